//go:build !unix

package botwire

import "net"

// rawConn is a TCP connection. On this system, it has no advantage.
type rawConn struct{ *net.TCPConn }

// newRawConn returns a connection that uses the socket of tcp.
func newRawConn(tcp *net.TCPConn) (*rawConn, error) { return &rawConn{tcp}, nil }

// readWaiting is like Read. It calls waits(true) before and waits(false) after reading.
func (c *rawConn) readWaiting(p []byte, waits func(bool)) (int, error) {
	waits(true)
	defer waits(false)
	return c.Read(p)
}

// Listener returns l.
func Listener(l net.Listener) net.Listener { return l }
