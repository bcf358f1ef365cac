package api

import (
	"context"
	"errors"
	"net/http"

	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/rest/problem"
)

// A page of the arena counts as one call of its reader, however many reads of
// the API it makes (docs/adr/0028-a-page-calls-the-api.md). CountPage counts the
// page; its reads go through InternalReads and are not counted. The changes that
// its forms make are counted as calls like any other.

// internalReadKey marks a request of InternalReads in its context.
type internalReadKey struct{}

// InternalReads returns a handler for the reads of pages: it does not count GET.
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
// of the limit to h. It returns the seconds that a reader over the limit has to
// wait, else 0.
func (s *Server) CountPage(h http.Header, r *http.Request) int {
	_, err := s.limiter.CountAddress(h, r, ratelimit.AnyCall)
	var limited *problem.RateLimited
	if errors.As(err, &limited) {
		return limited.After
	}
	return 0
}
