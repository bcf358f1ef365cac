package connmux

import (
	"bytes"
	"net"
	"sync"
)

// replayed is a connection whose beginning was read already.
type replayed struct {
	net.Conn
	start *bytes.Reader
}

func (c *replayed) Read(p []byte) (int, error) {
	if c.start != nil {
		if c.start.Len() > 0 {
			return c.start.Read(p)
		}
		c.start = nil
	}
	return c.Conn.Read(p)
}

// connListener is a listener whose connections were accepted by another.
type connListener struct {
	addr   net.Addr
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newConnListener(addr net.Addr) *connListener {
	return &connListener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *connListener) pass(conn net.Conn) {
	select {
	case l.conns <- conn:
	case <-l.closed:
		_ = conn.Close()
	}
}

// Accept returns the next connection that was passed on.
func (l *connListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept; accepted connections continue.
func (l *connListener) Close() error {
	l.end()
	return nil
}

func (l *connListener) end() { l.once.Do(func() { close(l.closed) }) }

// Addr is the address of the listener that accepts.
func (l *connListener) Addr() net.Addr { return l.addr }
