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

	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
)

func (s *Server) newRouter() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		// A call that matches no endpoint counts too. The call is refused in any case,
		// so the error of CountAddress does not matter.
		_, _ = s.limiter.CountAddress(c.Response().Header(), c.Request(), ratelimit.AnyCall, 1)
		s.refuse(c, routingError(err))
	}
	e.Use(s.prepare, exactPath, knownMethod)
	return e
}

// prepare gives every request an id and deadlines, and sets the headers that all
// responses have in common. If a handler panics, prepare responds with 500.
func (s *Server) prepare(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		// SetReadDeadline and SetWriteDeadline fail only for test writers that do not
		// support deadlines.
		deadlines := http.NewResponseController(c.Response().Writer)
		_ = deadlines.SetReadDeadline(time.Now().Add(bodyTime))
		_ = deadlines.SetWriteDeadline(time.Now().Add(callTime + readTime))
		h := c.Response().Header()
		h.Set(rest.HeaderRequestID, uuid.NewString())
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
		slog.String("request", c.Response().Header().Get(rest.HeaderRequestID)), slog.String("stack", string(debug.Stack())))
	s.refuse(c, fmt.Errorf("panic: %v", p))
}

// exactPath refuses paths with more segments than their route. The router allows the
// last parameter of any route to match several segments, but only a route that ends
// with * may do that.
func exactPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !strings.HasSuffix(c.Path(), "*") && strings.Count(echo.GetPath(c.Request()), "/") != strings.Count(c.Path(), "/") {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// knownMethod refuses every method that a path does not accept, including OPTIONS.
// Otherwise, the router would respond to OPTIONS on its own, and the call would not be
// counted.
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

// routingError translates the router's errors into errors of package problem.
func routingError(err error) error {
	var he *echo.HTTPError
	switch {
	case !errors.As(err, &he):
		return err
	case he.Code == http.StatusNotFound:
		return problem.ErrPathUnknown
	case he.Code == http.StatusMethodNotAllowed:
		return problem.ErrMethodNotAllowed
	}
	return err
}
