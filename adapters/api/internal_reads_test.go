package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A web page counts as one call. The page's internal reads do not count.
func TestPageCountsAsOneCall(t *testing.T) {
	a := limited(t)
	ada := a.signIn("ada@example.org")
	internal := a.server.InternalReads()
	read := func(method, target string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader("{}"))
		if method == http.MethodGet {
			r = httptest.NewRequest(method, target, nil)
		}
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = "192.0.2.7:4711"
		r.AddCookie(ada.cookie)
		w := httptest.NewRecorder()
		internal.ServeHTTP(w, r)
		return w
	}
	for range 700 {
		require.Equal(t, http.StatusOK, read(http.MethodGet, "/matches").Code)
		require.Equal(t, http.StatusOK, read(http.MethodGet, "/me").Code)
	}
	ada.do(http.MethodGet, "/me", nil, from("192.0.2.7")).is(http.StatusOK)
	for range 30 {
		require.Equal(t, http.StatusOK, read(http.MethodPatch, "/me").Code)
	}
	require.Equal(t, http.StatusTooManyRequests, read(http.MethodPatch, "/me").Code, "a write of a form counts")

	page := httptest.NewRequest(http.MethodGet, "/", nil)
	page.RemoteAddr = "192.0.2.8:4711"
	h := http.Header{}
	for range 600 {
		require.Zero(t, a.server.CountPage(h, page, 1))
	}
	require.Equal(t, 60, a.server.CountPage(h, page, 1))
	require.Contains(t, h.Get("RateLimit"), `"all";r=0`)
	a.anyone().do(http.MethodGet, "/health", nil, from("192.0.2.8")).refused()
}
