package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// The header that names a request, in answers, logs and events.
const headerRequestID = "X-Request-Id"

func (s *Server) newRouter() *echo.Echo {
	e := echo.New()
	e.IPExtractor = func(r *http.Request) string { return clientAddress(r, s.TrustedProxies).String() }
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		s.countStray(c)
		s.refuse(c, routing(err))
	}
	e.Use(s.prepare, exactPath, knownMethod)
	return e
}

// prepare gives every request an id, deadlines to its body and its answer, and
// every answer its headers; it answers 500 where a handler panics.
func (s *Server) prepare(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		// Not every test's writer has deadlines.
		deadlines := http.NewResponseController(c.Response().Writer)
		_ = deadlines.SetReadDeadline(time.Now().Add(bodyTime))
		_ = deadlines.SetWriteDeadline(time.Now().Add(callTime + takeTime))
		h := c.Response().Header()
		h.Set(headerRequestID, uuid.NewString())
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		defer func() {
			if p := recover(); p != nil {
				s.panicked(c, p)
			}
		}()
		return next(c)
	}
}

func (s *Server) panicked(c echo.Context, p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.Logger.ErrorContext(c.Request().Context(), "a handler panicked",
		slog.String("request", c.Response().Header().Get(headerRequestID)), slog.String("stack", string(debug.Stack())))
	s.refuse(c, fmt.Errorf("panic: %v", p))
}

// exactPath refuses paths that the router matches beyond a parameter's segment,
// which it does where the parameter comes last.
func exactPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if strings.Count(echo.GetPath(c.Request()), "/") != strings.Count(c.Path(), "/") {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// knownMethod refuses every method that a path does not take, OPTIONS too, which
// the router would answer by itself and nobody would count.
func knownMethod(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		allowed, refused := c.Get(echo.ContextKeyHeaderAllow).(string)
		if !refused {
			return next(c)
		}
		methods := strings.Split(strings.TrimPrefix(allowed, http.MethodOptions+", "), ", ")
		if i := slices.Index(methods, http.MethodGet); i >= 0 {
			methods = slices.Insert(methods, i+1, http.MethodHead)
		}
		c.Response().Header().Set(echo.HeaderAllow, strings.Join(methods, ", "))
		return echo.ErrMethodNotAllowed
	}
}

// countStray counts a call that has no endpoint against its address. It is
// refused in any case.
func (s *Server) countStray(c echo.Context) {
	key := keyOf(clientAddress(c.Request(), s.TrustedProxies))
	t := s.limits.addresses.take(key, anyCall, s.limits.since(s.Now()))
	setQuotas(c.Response().Header(), t.quotas)
}

// routing translates the router's errors.
func routing(err error) error {
	var he *echo.HTTPError
	switch {
	case !errors.As(err, &he):
		return err
	case he.Code == http.StatusNotFound:
		return errPathUnknown
	case he.Code == http.StatusMethodNotAllowed:
		return errMethod
	}
	return err
}

func (s *Server) logRefusal(c echo.Context, status int, err error) {
	level := slog.LevelDebug
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	s.Logger.LogAttrs(c.Request().Context(), level, "request refused",
		slog.String("request", c.Response().Header().Get(headerRequestID)),
		slog.String("method", c.Request().Method),
		slog.String("route", c.Path()),
		slog.Int("status", status),
		slog.Any("error", err))
}
