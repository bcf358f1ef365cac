// Package connmux serves gRPC and plain HTTP on the same port. It reads the
// beginning of each connection and passes the connection to the server for it.
package connmux

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"

	"hexarena/eventstore/node/lifecycle"
)

// GRPCContent begins the content type of every gRPC request.
const GRPCContent = "application/grpc"

// Mux serves gRPC and plain HTTP on the same port.
type Mux struct {
	Logger *slog.Logger
	Life   *lifecycle.Lifecycle
	GRPC   *grpc.Server // connections that begin with a gRPC call
	HTTP   *http.Server // other connections
}

// Serve answers the connections of a listener until the node closes; then it
// returns nil. If the log fails it returns the cause. It closes the listener.
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
		return ignoreClosed(errors.Join(l.Close(), <-accepted))
	case <-m.Life.Failed():
		_ = errors.Join(l.Close(), <-accepted) // the cause matters more
		return m.Life.Cause()
	case err := <-accepted:
		return err
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// accept passes each connection to the gRPC server or to the HTTP server, depending
// on its first bytes. It ends with the listener.
func (m *Mux) accept(l net.Listener, grpcConns, httpConns *connListener) error {
	for {
		conn, err := l.Accept()
		var passing interface{ Temporary() bool }
		switch {
		case err == nil:
			m.Life.Go(func() { m.route(conn, grpcConns, httpConns) })
		case errors.As(err, &passing) && passing.Temporary():
			m.Logger.Warn("accept a connection", "error", err)
			m.pause()
		default:
			return err
		}
	}
}

// pause waits a short time, so that file descriptors can become free.
func (m *Mux) pause() {
	select {
	case <-time.After(sniffGrace):
	case <-m.Life.Closing():
	}
}

// route reads the beginning of a connection and passes the connection on. The
// server reads the same bytes again.
func (m *Mux) route(conn net.Conn, grpcConns, httpConns *connListener) {
	sniffed := make(chan struct{})
	defer close(sniffed)
	m.Life.Go(func() { m.hurry(conn, sniffed) })
	s := &sniffer{conn: conn}
	_ = conn.SetReadDeadline(time.Now().Add(HeaderTimeout))
	isGRPC, err := s.isGRPC()
	if err != nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	to := httpConns
	if isGRPC {
		to = grpcConns
	}
	to.pass(&replayed{Conn: conn, start: bytes.NewReader(s.seen.Bytes())})
}

// hurry closes a silent connection when the node closes.
func (m *Mux) hurry(conn net.Conn, sniffed <-chan struct{}) {
	select {
	case <-sniffed:
	case <-m.Life.Closing():
		_ = conn.Close()
	}
}
