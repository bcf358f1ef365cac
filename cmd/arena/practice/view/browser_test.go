package view

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBrowserCommand(t *testing.T) {
	screen := func(string) string { return ":0" }
	none := func(string) string { return "" }
	require.Equal(t, []string{"xdg-open", "http://x"}, browserCommand("linux", "http://x", screen))
	require.Nil(t, browserCommand("linux", "http://x", none), "xdg-open could start a browser in the terminal")
	require.Equal(t, []string{"open", "http://x"}, browserCommand("darwin", "http://x", none))
	require.Equal(t, []string{"rundll32", "url.dll,FileProtocolHandler", "http://x"}, browserCommand("windows", "http://x", none))
}

// Browsers leave out port 80.
func TestOnlyHere(t *testing.T) {
	for host, want := range map[string]int{
		"127.0.0.1:5000": 200, "127.0.0.1": 200, "localhost": 200, "[::1]": 200, "example.org": 421, "example.org:80": 421, "": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		onlyHere(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		require.Equal(t, want, w.Code, host)
	}
}
