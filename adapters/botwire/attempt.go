package botwire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

const (
	userAgent   = "hexarena"
	headerLimit = 16 << 10 // bytes of a response's headers
)

// stage is the progress of an attempt.
type stage int32

const (
	stageDialling stage = iota
	stageHandshake
	stageReady    // connected, and the TLS handshake is done if the URL is https
	stageUpgraded // the response is a 101
)

func (s stage) failure() *failure {
	return [...]*failure{errConnect, errTLS, errAnswer, errUpgrade}[s]
}

// attempt is one request on a new connection: no redirect, no proxy, no reuse. It
// is the http.RoundTripper of that request.
type attempt struct {
	dialer *Dialer
	ctx    context.Context // its end cuts the connection, unless keep was called before
	stage  atomic.Int32

	// The transport's dial sets these. Read them only after RoundTrip.
	conn *conn
	keep func() bool

	status int    // of an unexpected response
	wire   *wire  // of an upgraded connection
	nonce  string // of the bot, if it sent a valid one
}

// transport returns a transport for this attempt only: HTTP/1.1 over a guarded
// dial. Only the attempt's context limits its time.
func (a *attempt) transport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            a.dialPlain,
		DialTLSContext:         a.dialTLS,
		MaxResponseHeaderBytes: headerLimit,
		DisableKeepAlives:      true,
		DisableCompression:     true,
	}
}

// dialPlain and dialTLS use the attempt's context. The transport would pass a
// context that does not end with the request.
func (a *attempt) dialPlain(_ context.Context, network, address string) (net.Conn, error) {
	c, err := a.dial(network, address)
	if err != nil {
		return nil, err
	}
	a.stage.Store(int32(stageReady))
	return newWriteFirst(c), nil
}

func (a *attempt) dialTLS(_ context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errConnect
	}
	c, err := a.dial(network, address)
	if err != nil {
		return nil, err
	}
	a.stage.Store(int32(stageHandshake))
	secure := tls.Client(c, &tls.Config{
		ServerName: host, RootCAs: a.dialer.roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})
	if err := secure.HandshakeContext(a.ctx); err != nil {
		return nil, errors.Join(errTLS, c.Close())
	}
	a.stage.Store(int32(stageReady))
	return newWriteFirst(secure), nil
}

func (a *attempt) dial(network, address string) (*conn, error) {
	nc, err := a.dialer.net.DialContext(a.ctx, network, address)
	if err != nil {
		return nil, err
	}
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(errConnect, nc.Close())
	}
	c, err := newConn(tcp)
	if err != nil {
		return nil, errors.Join(errConnect, nc.Close())
	}
	a.conn, a.keep = c, context.AfterFunc(a.ctx, c.cut)
	return c, nil
}

// RoundTrip sends the upgrade. It returns either a 101 whose body is the guarded
// wire, or a response without a body, because the WebSocket library would wait
// for the body.
func (a *attempt) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.transport().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	stream, writable := resp.Body.(io.ReadWriteCloser)
	switch {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		a.status = resp.StatusCode
	case writable && isValidUpgrade(resp.Header):
		a.stage.Store(int32(stageUpgraded))
		a.wire, a.nonce = newWire(stream, a.conn), nonceOf(resp.Header)
		resp.Body = a.wire
		return resp, nil
	default:
		a.stage.Store(int32(stageUpgraded))
		resp.StatusCode = 0
	}
	err = resp.Body.Close()
	resp.Body = http.NoBody
	return resp, err
}

// failure returns the error for the owner of an attempt that ended with err.
func (a *attempt) failure(err error) error {
	if a.status != 0 {
		return badStatus(a.status, http.StatusSwitchingProtocols)
	}
	return classify(err, stage(a.stage.Load()))
}

// writeFirst is a connection whose reads wait for the first write. The transport
// would log bytes that a peer sends before the request.
type writeFirst struct {
	net.Conn
	once    sync.Once
	started chan struct{}
}

func newWriteFirst(c net.Conn) *writeFirst {
	return &writeFirst{Conn: c, started: make(chan struct{})}
}

func (f *writeFirst) start() { f.once.Do(func() { close(f.started) }) }

func (f *writeFirst) Read(p []byte) (int, error) {
	<-f.started
	return f.Conn.Read(p)
}

func (f *writeFirst) Write(p []byte) (int, error) {
	f.start()
	return f.Conn.Write(p)
}

func (f *writeFirst) Close() error {
	f.start()
	return f.Conn.Close()
}
