package botwire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

const (
	userAgent   = "hexarena"
	headerLimit = 16 << 10 // maximum size of a response's headers, in bytes
)

// attempt is one request on a new connection. It follows no redirects, uses no
// proxy and does not reuse the connection. It is the http.RoundTripper of that
// request.
type attempt struct {
	dialer *Dialer
	ctx    context.Context // when ctx ends, the connection is cut unless keep has been called

	// exchange sets these fields if it makes a connection.
	conn *conn
	keep func() bool

	wire   *wire       // the stream of an upgraded connection
	header http.Header // of the 101 response
}

// RoundTrip sends the upgrade. It returns a 101 response whose body is a *wire.
// Its error is a *failure.
func (a *attempt) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.exchange(req)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusSwitchingProtocols:
		err = badStatus(resp.StatusCode, http.StatusSwitchingProtocols)
	case !isValidUpgrade(resp.Header):
		err = errUpgrade
	default:
		a.wire, a.header = newWire(resp.Body.(stream), a.conn), resp.Header
		resp.Body = a.wire
		return resp, nil
	}
	_ = resp.Body.Close()
	return nil, err
}

// exchange sends a request and returns the response. Closing the response's body closes
// the connection. The body of a 101 response is the rest of the byte stream, in both
// directions. The error is a *failure.
func (a *attempt) exchange(req *http.Request) (*http.Response, error) {
	c, err := a.dial(req.URL)
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: c, N: headerLimit}
	in := bufio.NewReader(limited)
	var resp *http.Response
	err = req.Write(c)
	for err == nil && (resp == nil || isInterim(resp.StatusCode)) {
		resp, err = http.ReadResponse(in, req)
	}
	if err != nil {
		_ = c.Close()
		return nil, badExchange(err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = unbuffered(c, in)
		return resp, nil
	}
	limited.N = math.MaxInt64
	resp.Body = stream{c, resp.Body}
	return resp, nil
}

// unbuffered returns a stream of the bytes in a buffer and those that follow. It does not
// keep the buffer, because a match needs many connections.
func unbuffered(c net.Conn, in *bufio.Reader) stream {
	early, _ := in.Peek(in.Buffered()) // never fails
	return stream{c, io.MultiReader(bytes.NewReader(bytes.Clone(early)), c)}
}

// isInterim reports whether a status belongs to an interim response, which the
// server sends before the final one.
func isInterim(status int) bool {
	return status < http.StatusOK && status != http.StatusSwitchingProtocols
}

// stream is a connection that is read through a buffer.
type stream struct {
	net.Conn
	in io.Reader
}

// Read implements io.Reader.
func (s stream) Read(p []byte) (int, error) { return s.in.Read(p) }

// dial connects to the host of a URL, with TLS if the URL is https.
func (a *attempt) dial(u *url.URL) (net.Conn, error) {
	port, _ := portOf(u) // Allowed has checked it
	tcp, err := a.dialer.net.DialContext(a.ctx, "tcp", net.JoinHostPort(u.Hostname(), strconv.Itoa(int(port))))
	if err != nil {
		return nil, dialFailure(err)
	}
	c, err := newConn(tcp.(*net.TCPConn))
	if err != nil {
		_ = tcp.Close()
		return nil, errConnect
	}
	a.conn, a.keep = c, context.AfterFunc(a.ctx, c.cut)
	if u.Scheme != "https" {
		return c, nil
	}
	secure := tls.Client(c, &tls.Config{
		ServerName: u.Hostname(), RootCAs: a.dialer.options.RootCAs, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})
	if err := secure.HandshakeContext(a.ctx); err != nil {
		_ = c.Close()
		return nil, badTLS(err)
	}
	return secure, nil
}
