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
	headerLimit = 16 << 10 // bytes of an answer's headers
)

// stage is how far an attempt came.
type stage int32

const (
	stageDialling stage = iota
	stageHandshake
	stageReady    // connected; TLS is up, where there is any
	stageUpgraded // a 101 came
)

func (s stage) failure() *failure {
	return [...]*failure{errConnect, errTLS, errAnswer, errUpgrade}[s]
}

// attempt is one request on a connection of its own: no redirect, no proxy, no
// reuse. It is the http.RoundTripper of that one request.
type attempt struct {
	dialer *Dialer
	ctx    context.Context // of the attempt; its end cuts the connection unless kept
	stage  atomic.Int32

	// Written by the transport's dial; to be read once it has answered.
	conn *conn
	keep func() bool

	status int    // of an answer that was not the wanted one
	wire   *wire  // of a connection that was upgraded
	nonce  string // of the bot, if it gave a proper one
}

// transport returns the attempt's own transport: http/1.1 over a guarded dial.
// The attempt's context is its only clock.
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

// dialPlain and dialTLS are bound to the attempt's context, since the
// transport's own would outlive the request.
func (a *attempt) dialPlain(_ context.Context, network, address string) (net.Conn, error) {
	c, err := a.dial(network, address)
	if err != nil {
		return nil, err
	}
	a.stage.Store(int32(stageReady))
	return newFirstWord(c), nil
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
	return newFirstWord(secure), nil
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

// RoundTrip sends the upgrade. What it returns to the WebSocket library is
// either a 101 whose body is the guarded wire, or an answer without a body:
// the library would wait for one.
func (a *attempt) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.transport().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	stream, writable := resp.Body.(io.ReadWriteCloser)
	switch {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		a.status = resp.StatusCode
	case writable && properUpgrade(resp.Header):
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

// failure names what went wrong with an attempt that ended in err.
func (a *attempt) failure(err error) error {
	if a.status != 0 {
		return badStatus(a.status, http.StatusSwitchingProtocols)
	}
	return classify(err, stage(a.stage.Load()))
}

// firstWord is a connection on which we speak first: what a peer says before
// our request is not read before it. The transport would log it.
type firstWord struct {
	net.Conn
	once   sync.Once
	spoken chan struct{}
}

func newFirstWord(c net.Conn) *firstWord { return &firstWord{Conn: c, spoken: make(chan struct{})} }

func (f *firstWord) speak() { f.once.Do(func() { close(f.spoken) }) }

func (f *firstWord) Read(p []byte) (int, error) {
	<-f.spoken
	return f.Conn.Read(p)
}

func (f *firstWord) Write(p []byte) (int, error) {
	f.speak()
	return f.Conn.Write(p)
}

func (f *firstWord) Close() error {
	f.speak()
	return f.Conn.Close()
}
