package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// If a request's body ends early, the caller gets an error and never an empty 200
// response.
func TestTruncatedBodyIsRefused(t *testing.T) {
	a := newArena(t)
	for _, framing := range []string{"Content-Length: 1000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n400\r\n{"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "POST /sign-in HTTP/1.1\r\nHost: arena\r\nContent-Type: application/json\r\n"+framing)
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusBadRequest, response.StatusCode)
		require.Contains(t, string(body), `"code":"malformed"`)
	}
}
