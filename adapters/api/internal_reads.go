package api

import (
	"context"
	"errors"
	"net/http"

	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/rest/problem"
)

// A web page of the arena counts as one call by its reader, even if the page reads from
// the API several times (docs/adr/0028-a-page-calls-the-api.md). Some pages count as
// more calls (docs/protocol.md, "Rate limits"). CountPage counts the page. The page
// reads through InternalReads, which does not count GET calls. A change that the reader
// makes through a form on the page counts like any other call.

// internalReadKey is the context key that marks a request to InternalReads.
type internalReadKey struct{}

// InternalReads returns the handler that web pages read from. The handler does
// not count GET calls.
func (s *Server) InternalReads() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), internalReadKey{}, true)))
	})
}

func (c *call) isInternalRead() bool {
	internal, _ := c.request.Context().Value(internalReadKey{}).(bool)
	return internal && c.request.Method == http.MethodGet
}

// CountPage counts a web page as n calls from its reader's address, and writes the
// number of remaining calls to the header h. If the reader is over the limit, CountPage
// returns the number of seconds to wait. Otherwise, it returns 0.
func (s *Server) CountPage(h http.Header, r *http.Request, n int) int {
	return s.count(h, r, ratelimit.AnyCall, n)
}

// CountFile is like CountPage, but counts a file that a page loads. Files have a
// separate limit.
func (s *Server) CountFile(h http.Header, r *http.Request) int {
	return s.count(h, r, ratelimit.File, 1)
}

func (s *Server) count(h http.Header, r *http.Request, class ratelimit.Class, n int) int {
	_, err := s.limiter.CountAddress(h, r, class, n)
	var limited *problem.RateLimited
	if errors.As(err, &limited) {
		return limited.After
	}
	return 0
}
