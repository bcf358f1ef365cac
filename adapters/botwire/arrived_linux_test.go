package botwire

import (
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The function arrived() waits until the other side's socket has received all written
// bytes. To find out, it waits until the kernel has no unacknowledged bytes left.
func arrived(t testing.TB, c *peerConn) {
	tcp := c.Conn
	if wrapped, ok := tcp.(interface{ NetConn() net.Conn }); ok {
		tcp = wrapped.NetConn()
	}
	raw, err := tcp.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	for queued := 1; queued > 0; runtime.Gosched() {
		err = raw.Control(func(fd uintptr) { queued, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
		if err != nil {
			return
		}
	}
}
