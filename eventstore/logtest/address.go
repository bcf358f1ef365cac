package logtest

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// ClosedAddress returns a loopback address on which nothing listens, such as
// "127.0.0.1:40123". An open connection occupies the port until the test ends, so no
// other process can listen on it.
func ClosedAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	c, err := net.Dial("tcp", listener.Addr().String()) //nolint:noctx // it does not wait, because the test listens
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c.LocalAddr().String()
}
