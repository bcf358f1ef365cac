package botwire

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// rawPair returns both ends of a connection. The first one is a rawConn.
func rawPair(t *testing.T) (net.Conn, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	near, err := Listener(l).Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far.(*net.TCPConn)
}

// More bytes than the sockets can hold go back and forth, so both sides wait.
func TestBytesArriveInOrder(t *testing.T) {
	near, far := rawPair(t)
	sent := make([]byte, 32<<20)
	_, _ = rand.Read(sent)
	var g errgroup.Group
	g.Go(func() error {
		n, err := near.Write(sent)
		if n != len(sent) {
			return errors.Join(err, io.ErrShortWrite)
		}
		return near.(*rawConn).CloseWrite()
	})
	g.Go(func() error {
		_, err := io.Copy(far, far)
		return errors.Join(err, far.CloseWrite())
	})
	back, err := io.ReadAll(near)
	require.NoError(t, err)
	require.NoError(t, g.Wait())
	require.True(t, bytes.Equal(sent, back))
	n, err := near.Read(nil)
	require.NoError(t, err)
	require.Zero(t, n)
}

// A blocked call ends at a deadline and when the connection is closed.
func TestBlockedCallsEnd(t *testing.T) {
	for name, block := range map[string]func(net.Conn) error{
		"read": func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"write": func(c net.Conn) (err error) {
			for err == nil {
				_, err = c.Write(make([]byte, 1<<20))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			near, _ := rawPair(t)
			require.NoError(t, near.SetDeadline(time.Now().Add(time.Millisecond)))
			require.ErrorIs(t, block(near), os.ErrDeadlineExceeded)
			require.NoError(t, near.SetDeadline(time.Time{}))
			ended := make(chan error)
			go func() { ended <- block(near) }()
			require.NoError(t, near.Close())
			require.ErrorIs(t, <-ended, net.ErrClosed)
		})
	}
}

// A reset by the peer is an error, and not the end of the stream.
func TestResetOfARawConn(t *testing.T) {
	near, far := rawPair(t)
	require.NoError(t, far.SetLinger(0))
	require.NoError(t, far.Close())
	_, err := near.Read(make([]byte, 1))
	require.ErrorContains(t, err, "reset")
	require.NotErrorIs(t, err, io.EOF)
	for err = nil; err == nil; {
		_, err = near.Write([]byte("x"))
	}
	require.ErrorContains(t, err, "pipe")
}
