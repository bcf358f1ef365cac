//go:build unix

package botwire

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// rawConn is a TCP connection that is read and written without telling Go's scheduler
// about the system calls. The socket does not block, so the scheduler need not know. If
// it did, the first call of an idle process would wake a thread of the runtime that
// supervises system calls. In a process that mostly waits for short messages, that takes
// longer than the call itself. It used a quarter of the CPU time of `arena play` with
// programs.
type rawConn struct {
	*net.TCPConn
	raw syscall.RawConn
}

// newRawConn returns a connection that uses the socket of tcp.
func newRawConn(tcp *net.TCPConn) (*rawConn, error) {
	raw, err := tcp.SyscallConn()
	return &rawConn{tcp, raw}, err
}

// The method control() calls f with the socket. f must not keep it.
func (c *rawConn) control(f func(fd uintptr)) error { return c.raw.Control(f) }

// Read implements io.Reader.
func (c *rawConn) Read(p []byte) (int, error) { return c.readWaiting(p, func(bool) {}) }

// The method readWaiting() is like Read. It calls waits(true) before it waits for bytes,
// and waits(false) before each attempt to read.
func (c *rawConn) readWaiting(p []byte, waits func(bool)) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	closed := c.raw.Read(func(fd uintptr) bool {
		waits(false)
		if n, err = read(fd, p); !errors.Is(err, syscall.EAGAIN) {
			return true
		}
		waits(true)
		return false
	})
	switch {
	case closed != nil: // or a deadline has passed
		waits(false)
		return 0, closed
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements io.Writer.
func (c *rawConn) Write(p []byte) (n int, err error) {
	closed := c.raw.Write(func(fd uintptr) bool {
		for n < len(p) && err == nil {
			var more int
			more, err = write(fd, p[n:])
			n += more
		}
		if errors.Is(err, syscall.EAGAIN) {
			err = nil
			return false
		}
		return true
	})
	switch {
	case closed != nil: // or a deadline has passed
		return n, closed
	case err != nil:
		return n, os.NewSyscallError("write", err)
	}
	return n, nil
}

// Listener returns a listener for bots. Its connections need less CPU time for short
// messages than those of l.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		return newRawConn(tcp)
	}
	return c, err
}
