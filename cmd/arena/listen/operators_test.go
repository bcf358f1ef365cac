package listen

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// refusal returns the error code of a call that the check refuses, or "" if the call
// reaches the endpoints.
func refusal(t *testing.T, method, host string, headers ...string) string {
	t.Helper()
	reached := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	h := ForOperators(reached, "Listen.internal:8081", []HostName{"arena.internal", "10.0.0.7"}, slog.New(slog.DiscardHandler))
	r := httptest.NewRequestWithContext(t.Context(), method, "/metrics", nil)
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code == http.StatusNoContent {
		return ""
	}
	var p struct{ Code, RequestID, Detail string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p), w.Body)
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.NotEmpty(t, p.RequestID)
	require.NotEmpty(t, p.Detail)
	return p.Code
}

func TestHostsOfOperators(t *testing.T) {
	for _, host := range []string{
		"localhost", "LOCALHOST:1", "localhost.:8081", "127.0.0.1", "127.0.0.1:8081", "[::1]:8082", "[::1]", "::1", "10.1.2.3:9",
		"listen.internal:8081", "arena.internal", "Arena.Internal.:8081", "10.0.0.7", "",
	} {
		require.Empty(t, refusal(t, http.MethodGet, host), host)
	}
	for _, host := range []string{
		"example.org", "example.org:8081", "127.0.0.1.example.org", "localhost.example.org", "internal", "x.arena.internal", "arena.internal.example.org",
		"arena", "127.1", "0x7f000001", "0.0.0.0:8081", "[::]:8081", "[::ffff:127.0.0.1]:8081", "localhost:1:2", " localhost",
	} {
		require.Equal(t, "host", refusal(t, http.MethodGet, host), host)
		require.Equal(t, "host", refusal(t, http.MethodPost, host, "Sec-Fetch-Site", "same-origin"), host)
	}
}

// The check refuses every call that a browser sends on behalf of another site's page,
// with any method. It accepts calls from the operator's own pages, address bar and
// programs.
func TestSitesOfOperators(t *testing.T) {
	const at = "127.0.0.1:8081"
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "DELETE"} {
		for _, headers := range [][]string{
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"}, // another port of this machine
			{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"},
			{"Sec-Fetch-Site", "cross-site", "Origin", "http://" + at},
			{"Sec-Fetch-Site", "nonsense"},
			{"Origin", "https://example.org"},
			{"Origin", "http://127.0.0.1:8080"},
			{"Origin", "null"},
		} {
			require.Equal(t, "cross_site", refusal(t, method, at, headers...), "%s %v", method, headers)
		}
		for _, headers := range [][]string{
			nil,
			{"Sec-Fetch-Site", "same-origin", "Origin", "http://" + at},
			{"Sec-Fetch-Site", "none"},
			{"Origin", "http://" + at},
		} {
			require.Empty(t, refusal(t, method, at, headers...), "%s %v", method, headers)
		}
	}
}

func TestHostNames(t *testing.T) {
	for text, want := range map[string]HostName{"arena": "arena", "Arena.Internal.": "arena.internal", "10.0.0.7": "10.0.0.7", "my_arena-1": "my_arena-1"} {
		var n HostName
		require.NoError(t, n.UnmarshalText([]byte(text)))
		require.Equal(t, want, n)
	}
	for _, text := range []string{"", ".", "arena:8081", "http://arena", "*", "*.internal", "a b", "ärena", "-a", "[::1]", "a/b"} {
		require.ErrorContains(t, new(HostName).UnmarshalText([]byte(text)), "want a host name without a port", text)
	}
}
