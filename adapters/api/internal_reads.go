package api

import (
	"context"
	"errors"
	"net/http"

	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/rest/problem"
)

// A page of the arena counts as one call by its reader, no matter how often it
// reads from the API (docs/adr/0028-a-page-calls-the-api.md). CountPage counts
// the page. The page's reads go through InternalReads, which does not count
// them. The changes that its forms make count like any other call.

// internalReadKey marks a request of InternalReads in its context.
type internalReadKey struct{}

// InternalReads returns the handler that pages read from. It does not count GET
// calls.
func (s *Server) InternalReads() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), internalReadKey{}, true)))
	})
}

func (c *call) isInternalRead() bool {
	internal, _ := c.request.Context().Value(internalReadKey{}).(bool)
	return internal && c.request.Method == http.MethodGet
}

// CountPage counts a page against its reader's address, and writes what is left
// of the limit to h. If the reader is over the limit, it returns the number of
// seconds to wait, otherwise 0.
func (s *Server) CountPage(h http.Header, r *http.Request) int {
	_, err := s.limiter.CountAddress(h, r, ratelimit.AnyCall)
	var limited *problem.RateLimited
	if errors.As(err, &limited) {
		return limited.After
	}
	return 0
}
