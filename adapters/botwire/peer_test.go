package botwire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hangGuard is the timeout that ends a hanging test. No test result depends on its
// value.
const hangGuard = 2 * time.Minute

// platformKey is the platform key of all tests.
var platformKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// peer is a hand-written WebSocket server on raw TCP. It answers the upgrade and
// then runs its script on the connection.
type peer struct {
	url   string
	roots *x509.CertPool
	conns sync.WaitGroup

	mu       sync.Mutex
	requests []*http.Request
	open     []net.Conn
}

// script runs after the upgrade. When the script returns, the peer closes the
// connection.
type script func(c *peerConn)

// peerConn is the connection that a script uses.
type peerConn struct {
	net.Conn
	in *bufio.Reader
}

func (c *peerConn) write(frames ...[]byte) {
	_, _ = c.Write(bytes.Join(frames, nil))
}

// untilEnd discards frames until the other side closes.
func (c *peerConn) untilEnd() {
	for {
		if op, _, err := c.readFrame(); err != nil || op == opClose {
			return
		}
	}
}

// The method deaf() discards all bytes and does not reply to close frames.
func (c *peerConn) deaf() { _, _ = io.Copy(io.Discard, c.in) }

// readFrame reads and unmasks one frame from a client.
func (c *peerConn) readFrame() (opcode byte, payload []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(c.in, head[:]); err != nil {
		return 0, nil, err
	}
	length := uint64(head[1] & 0x7F)
	switch length {
	case 126:
		var ext [2]byte
		_, err = io.ReadFull(c.in, ext[:])
		length = uint64(binary.BigEndian.Uint16(ext[:]))
	case 127:
		var ext [8]byte
		_, err = io.ReadFull(c.in, ext[:])
		length = binary.BigEndian.Uint64(ext[:])
	}
	if err != nil {
		return 0, nil, err
	}
	body := make([]byte, 4+length)
	if _, err = io.ReadFull(c.in, body); err != nil {
		return 0, nil, err
	}
	for i := range body[4:] {
		body[4+i] ^= body[i%4]
	}
	return head[0] & 0x0F, body[4:], nil
}

// newPeer starts a peer that uses plain TCP.
func newPeer(t testing.TB, s script) *peer { return startPeer(t, nil, nil, s) }

// newTLSPeer starts a peer that uses TLS.
func newTLSPeer(t testing.TB, s script) *peer {
	cert, roots := certificate(t)
	p := startPeer(t, &tls.Config{Certificates: []tls.Certificate{cert}}, nil, s)
	p.roots = roots
	return p
}

// certificate returns a certificate for 127.0.0.1 and the pool that trusts it.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return srv.TLS.Certificates[0], roots
}

// startPeer starts a peer that adds headers to its response to the upgrade.
func startPeer(t testing.TB, secure *tls.Config, more http.Header, s script) *peer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &peer{url: "http://" + ln.Addr().String()}
	if secure != nil {
		p.url = "https://" + ln.Addr().String()
	}
	p.conns.Go(func() {
		for {
			tcp, err := ln.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.open = append(p.open, tcp)
			p.mu.Unlock()
			c := tcp
			if secure != nil {
				c = tls.Server(tcp, secure)
			}
			p.conns.Go(func() { defer tcp.Close(); p.serve(c, more, s) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		p.mu.Lock()
		for _, c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.conns.Wait()
	})
	return p
}

func (p *peer) serve(c net.Conn, more http.Header, s script) {
	in := bufio.NewReader(c)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.requests = append(p.requests, req)
	p.mu.Unlock()
	answer := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	if more.Get("Sec-WebSocket-Accept") == "" {
		answer += "Sec-WebSocket-Accept: " + acceptKey(req) + "\r\n"
	}
	for name, values := range more {
		for _, v := range values {
			answer += name + ": " + v + "\r\n"
		}
	}
	if _, err := io.WriteString(c, answer+"\r\n"); err == nil {
		s(&peerConn{Conn: c, in: in})
	}
}

func acceptKey(req *http.Request) string {
	sum := sha1.Sum([]byte(req.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (p *peer) dialer() *Dialer { return patient(Options{Key: platformKey, RootCAs: p.roots}) }

// The function patient() returns a Dialer with time limits that are long enough for a
// busy machine. Its deploy check does not hide how long a failed connection took. The
// Dialer discards logs unless o has a Logger.
func patient(o Options) *Dialer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	d := New(o)
	d.patience, d.unconnected, d.draining = hangGuard, 0, hangGuard
	return d
}

// dial opens a line to the peer. The line is closed when the test ends.
func (p *peer) dial(t testing.TB, receive Receive) *Line {
	t.Helper()
	line, _, err := p.dialer().Dial(t.Context(), p.url, "m-1", Upgrade{}, receive)
	require.NoError(t, err)
	t.Cleanup(line.Close)
	return line
}

// frame builds a frame as a server sends it. The parameter first contains the FIN bit,
// the reserved bits and the opcode.
func frame(first byte, payload []byte) []byte {
	n := len(payload)
	head := []byte{first, byte(n)}
	switch {
	case n > 0xFFFF:
		head = binary.BigEndian.AppendUint64([]byte{first, 127}, uint64(n))
	case n > 125:
		head = binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(n))
	}
	return append(head, payload...)
}

const fin = 0x80

func text(s string) []byte { return frame(fin|0x1, []byte(s)) }

// The type heard describes one call of the method receive.
type heard struct{ frame, cause string }

// The type ears collects the calls of its method receive.
type ears chan heard

func newEars() ears { return make(ears, 1<<17) }

func (e ears) receive(frame []byte, cause string) { e <- heard{string(frame), cause} }

// The method next() returns the next collected call.
func (e ears) next(t testing.TB) heard {
	t.Helper()
	select {
	case h := <-e:
		return h
	case <-time.After(hangGuard):
		require.FailNow(t, "receive was not called")
		return heard{}
	}
}

// The method last() waits for the last collected call and returns the number of earlier
// calls.
func (e ears) last(t testing.TB) (before int) {
	t.Helper()
	for {
		if e.next(t) == (heard{cause: "dropped"}) {
			return before
		}
		before++
	}
}

// The function finishes() fails the test if f hangs.
func finishes(t testing.TB, what string, f func()) time.Duration {
	t.Helper()
	began, done := time.Now(), make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(hangGuard):
		require.FailNow(t, what+" hangs")
	}
	return time.Since(began)
}

// timeout returns a context that ends after d.
func timeout(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// The function brief() replaces a long frame with its length and hash, to keep failures
// readable.
func brief(h heard) heard {
	if len(h.frame) > 100 {
		h.frame = fmt.Sprintf("%d bytes, hash %x", len(h.frame), sha1.Sum([]byte(h.frame)))
	}
	return h
}
