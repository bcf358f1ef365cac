package node

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// connMux serves gRPC and plain HTTP on the same port.
type connMux struct {
	logger *slog.Logger
	life   *lifecycle
	grpc   *grpc.Server // connections that begin with a gRPC call
	http   *http.Server // other connections
}

// serve answers the connections of a listener until the node closes; then it
// returns nil. If the log fails it returns the cause. It closes the listener.
func (m *connMux) serve(l net.Listener) error {
	if !m.life.enter() {
		return l.Close()
	}
	defer m.life.leave()
	grpcConns, httpConns := newConnListener(l.Addr()), newConnListener(l.Addr())
	var servers sync.WaitGroup
	servers.Go(func() { _ = m.grpc.Serve(grpcConns) })
	servers.Go(func() { _ = m.http.Serve(httpConns) })
	defer servers.Wait()
	defer grpcConns.end()
	defer httpConns.end()

	accepted := make(chan error, 1)
	go func() { accepted <- m.accept(l, grpcConns, httpConns) }()
	select {
	case <-m.life.closing:
		return ignoreClosed(errors.Join(l.Close(), <-accepted))
	case <-m.life.failed:
		_ = errors.Join(l.Close(), <-accepted) // the cause matters more
		return m.life.cause
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

// accept hands each connection to gRPC's own server or to the one for plain
// HTTP, by what it begins with. It ends with the listener.
func (m *connMux) accept(l net.Listener, grpcConns, httpConns *connListener) error {
	for {
		conn, err := l.Accept()
		var passing interface{ Temporary() bool }
		switch {
		case err == nil:
			m.life.begin(func() { m.route(conn, grpcConns, httpConns) })
		case errors.As(err, &passing) && passing.Temporary():
			m.logger.Warn("accept a connection", "error", err)
			m.pause()
		default:
			return err
		}
	}
}

// pause waits a moment, for descriptors to be free again.
func (m *connMux) pause() {
	select {
	case <-time.After(sniffGrace):
	case <-m.life.closing:
	}
}

// route reads the beginning of a connection and passes it on, with what was
// read in front.
func (m *connMux) route(conn net.Conn, grpcConns, httpConns *connListener) {
	sniffed := make(chan struct{})
	defer close(sniffed)
	m.life.begin(func() { m.hurry(conn, sniffed) })
	s := &sniffer{conn: conn}
	_ = conn.SetReadDeadline(time.Now().Add(sniffTime))
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
	to.pass(&replayed{Conn: conn, front: bytes.NewReader(s.seen.Bytes())})
}

// hurry closes a connection that says nothing when the node closes.
func (m *connMux) hurry(conn net.Conn, sniffed <-chan struct{}) {
	select {
	case <-sniffed:
	case <-m.life.closing:
		_ = conn.Close()
	}
}
