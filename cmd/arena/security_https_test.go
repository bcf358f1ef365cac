package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// With --production, every response of the public port makes browsers use only https.
func TestSecurityHTTPS(t *testing.T) {
	t.Parallel()
	production, plain := newSecurityArena(t, "--production", "--base-url", "https://arena.example"), newSecurityArena(t)
	t.Run("a first call over plain http", func(t *testing.T) {
		for _, path := range []string{"/", "/health", "/leaderboard", "/openapi.json", "/sign-in", "/dashboard", "/robots.txt", "/me", "/nothing", "/docs/quickstart"} {
			require.Equal(t, []string{"max-age=31536000"}, headOf(t, production.address(), path)["Strict-Transport-Security"], path)
			require.Empty(t, headOf(t, plain.address(), path)["Strict-Transport-Security"], path)
		}
	})
}

func headOf(t *testing.T, at, path string) http.Header {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+path, nil)
	require.NoError(t, err)
	res, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.Header
}
