package api

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
)

// refuse responds with the problem that describes an error.
func (s *Server) refuse(c echo.Context, err error) {
	p := problem.Of(err)
	if c.Request().Context().Err() != nil && p.Status >= http.StatusInternalServerError {
		panic(http.ErrAbortHandler) // otherwise, a caller that canceled the call could read an empty 200
	}
	s.logRefusal(c, p.Status, err)
	if c.Response().Committed {
		return
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	var limited *problem.RateLimited
	switch {
	case errors.As(err, &limited):
		h.Set("Retry-After", strconv.Itoa(limited.After))
	case p.Status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Arena-Signature")
	}
	problem.Write(c.Response(), p)
}

func (s *Server) logRefusal(c echo.Context, status int, err error) {
	level := slog.LevelDebug
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	s.Logger.LogAttrs(c.Request().Context(), level, "request refused",
		slog.String("request", c.Response().Header().Get(rest.HeaderRequestID)),
		slog.String("method", c.Request().Method),
		slog.String("route", c.Path()),
		slog.Int("status", status),
		slog.Any("error", err))
}
