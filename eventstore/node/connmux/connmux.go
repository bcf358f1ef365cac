// Package connmux serves gRPC and plain HTTP on the same port. It reads the
// first bytes of each connection and passes the connection to the right server.
package connmux

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/quota"
)

// GRPCContent is the prefix of the content type of every gRPC request.
const GRPCContent = "application/grpc"

// Mux serves gRPC and plain HTTP on the same port.
type Mux struct {
	Logger *slog.Logger
	Life   *lifecycle.Lifecycle
	GRPC   *grpc.Server // serves connections that begin with a gRPC call
	HTTP   *http.Server // other connections

	Connections *quota.Counter // connections beyond its limit are closed immediately
}

// Serve serves the connections of a listener until the node closes, and then
// returns nil. If the log fails, Serve returns the cause. Serve closes the
// listener.
func (m *Mux) Serve(l net.Listener) error {
	if !m.Life.Enter() {
		return l.Close()
	}
	defer m.Life.Leave()
	grpcConns, httpConns := newConnListener(l.Addr()), newConnListener(l.Addr())
	var servers sync.WaitGroup
	servers.Go(func() { _ = m.GRPC.Serve(grpcConns) })
	servers.Go(func() { _ = m.HTTP.Serve(httpConns) })
	defer servers.Wait()
	defer grpcConns.end()
	defer httpConns.end()

	accepted := make(chan error, 1)
	go func() { accepted <- m.accept(l, grpcConns, httpConns) }()
	select {
	case <-m.Life.Closing():
		if err := errors.Join(l.Close(), <-accepted); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	case <-m.Life.Failed():
		_ = errors.Join(l.Close(), <-accepted) // the cause is more useful than these errors
		return m.Life.Cause()
	case err := <-accepted:
		return err
	}
}

// accept passes each connection to the gRPC server or to the HTTP server, depending
// on its first bytes. It returns when the listener is closed.
func (m *Mux) accept(l net.Listener, grpcConns, httpConns *connListener) error {
	for {
		conn, err := l.Accept()
		var passing interface{ Temporary() bool }
		switch {
		case err == nil:
			if conn := m.count(conn); conn != nil {
				m.Life.Go(func() { m.route(conn, grpcConns, httpConns) })
			}
		case errors.As(err, &passing) && passing.Temporary():
			m.Logger.Warn("accept a connection", "error", err)
			m.pause()
		default:
			return err
		}
	}
}

// count adds a connection to the number of open connections. If there are too many,
// either from the client's network or in total, it closes the connection and returns
// nil.
func (m *Mux) count(conn net.Conn) net.Conn {
	network := quota.Network(conn.RemoteAddr())
	if !m.Connections.Take(network) {
		_ = conn.Close()
		return nil
	}
	return &counted{Conn: conn, give: sync.OnceFunc(func() { m.Connections.Give(network) })}
}

// The type counted is a connection that counts toward the limit until it is closed.
type counted struct {
	net.Conn
	give func()
}

func (c *counted) Close() error {
	defer c.give()
	return c.Conn.Close()
}

// pause waits for a short time, so that file descriptors can become free.
func (m *Mux) pause() {
	select {
	case <-time.After(sniffGrace):
	case <-m.Life.Closing():
	}
}

// route reads the first bytes of a connection and passes the connection to a
// server, which reads the same bytes again. It closes a connection that has sent
// nothing by the time the node closes.
func (m *Mux) route(conn net.Conn, grpcConns, httpConns *connListener) {
	stop := context.AfterFunc(m.Life.Open(), func() { _ = conn.Close() })
	defer stop()
	var seen bytes.Buffer
	_ = conn.SetReadDeadline(time.Now().Add(HeaderTimeout))
	isGRPC, err := sniff(conn, &seen)
	if err != nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	again := &replayed{Conn: conn, start: &seen}
	if isGRPC {
		grpcConns.pass(&merged{Conn: again})
	} else {
		httpConns.pass(again)
	}
}

// The type replayed is a connection whose first bytes were already read. Read returns
// them again.
type replayed struct {
	net.Conn
	start *bytes.Buffer // the first bytes; nil once they have been read again
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

// connListener is a listener that returns connections from another listener.
type connListener struct {
	addr  net.Addr
	conns chan net.Conn
	open  context.Context
	end   context.CancelFunc
}

func newConnListener(addr net.Addr) *connListener {
	l := &connListener{addr: addr, conns: make(chan net.Conn)}
	l.open, l.end = context.WithCancel(context.Background())
	return l
}

func (l *connListener) pass(conn net.Conn) {
	select {
	case l.conns <- conn:
	case <-l.open.Done():
		_ = conn.Close()
	}
}

// Accept returns the next connection that the method route() has passed on.
func (l *connListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.open.Done():
		return nil, net.ErrClosed
	}
}

// Close makes Accept return an error. Accepted connections stay open.
func (l *connListener) Close() error {
	l.end()
	return nil
}

// Addr returns the address of the listener that accepted the connections.
func (l *connListener) Addr() net.Addr { return l.addr }
