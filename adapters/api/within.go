package api

import (
	"context"
	"net/http"
)

// A page of the arena's counts as one call of its reader, whatever it asks the
// API to show itself: Count counts the page, and what it reads through Within
// is not counted again. What its forms change are calls like any other's.

type withinKey struct{}

// Within serves the reads of pages: as ServeHTTP does, less the counting of GET.
func (s *Server) Within() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), withinKey{}, true)))
	})
}

// Count counts a page against its reader's address. It returns how many seconds
// the reader has to wait, 0 where it is under its limits; h are the answer's
// headers.
func (s *Server) Count(h http.Header, r *http.Request) int {
	key := keyOf(clientAddress(r, s.limits.trusted))
	t := s.limits.addresses.take(key, anyCall, s.limits.since(s.Now()))
	setQuotas(h, t.quotas)
	if t.over == 0 {
		return 0
	}
	return seconds(t.quotas[0].until)
}

// within says whether the call is a part of a page that was counted.
func (c *call) within() bool {
	within, _ := c.request.Context().Value(withinKey{}).(bool)
	return within && c.request.Method == http.MethodGet
}
