package botwire

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"nhooyr.io/websocket"

	"hexarena/domain/match"
)

const (
	sendGrace  = 250 * time.Millisecond // of a write, after its context's end
	goodbye    = 500 * time.Millisecond // of the closing handshake
	drainTime  = time.Second            // of a drain
	drainGrace = 100 * time.Millisecond // of a drain, after its context's end
)

// Receive hears what a line brings: a text frame with cause "", one that
// cannot be text with match.CauseMalformed, nil and match.CauseOversized for
// one over FrameLimit, and last, once, nil and match.CauseDropped. Calls come
// one at a time, from the line's reader; the frame is the receiver's to keep.
// It must not block, and must not call Close or Drain.
type Receive = func(frame []byte, cause string)

// Line is an open socket to a bot. Its methods may be called at the same time.
type Line struct {
	ws      *websocket.Conn
	wire    *wire
	conn    *conn
	receive Receive
	log     *slog.Logger
	drain   time.Duration // the limit of a Drain

	closing atomic.Bool
	gone    chan struct{} // closed when receive has heard the last
	done    chan struct{} // closed when the reader has ended
}

// Dial opens the socket of a match and reads from it until it ends; receive
// may be called before Dial returns. ctx and 5 s bound the dial, not the line.
//
// nonce is the bot's x-arena-nonce, empty if missing or wrong. The error says
// NotAllowed if the address is refused, and holds neither URL nor address.
func (d *Dialer) Dial(ctx context.Context, url, matchID, commitment string, receive Receive) (
	line *Line, nonce string, err error,
) {
	line, nonce, err = d.open(ctx, url, matchID, commitment)
	if err != nil {
		return nil, "", err
	}
	line.receive, line.log, line.drain = receive, d.log.With("match", matchID), d.draining
	go line.run()
	return line, nonce, nil
}

// open makes the signed upgrade; nobody reads from its line yet.
func (d *Dialer) open(ctx context.Context, url, matchID, commitment string) (*Line, string, error) {
	if err := d.Allowed(url); err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	a := &attempt{dialer: d, ctx: ctx}
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{ //nolint:bodyclose // the library took it: it is the wire
		HTTPClient: &http.Client{Transport: a, CheckRedirect: noRedirect},
		HTTPHeader: d.signed(matchID, commitment),
	})
	if err != nil {
		return nil, "", a.failure(err)
	}
	if !a.keep() {
		_ = ws.CloseNow()
		return nil, "", errAnswer
	}
	ws.SetReadLimit(FrameLimit)
	a.wire.open.Store(true)
	line := &Line{ws: ws, wire: a.wire, conn: a.conn, gone: make(chan struct{}), done: make(chan struct{})}
	return line, a.nonce, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Send writes a text frame. A peer that does not read holds it until shortly
// after ctx ends; then the line, with half a frame on it, is cut.
func (l *Line) Send(ctx context.Context, frame []byte) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.gone:
		return ErrGone
	default:
	}
	written := make(chan struct{})
	defer close(written)
	// The library would cut the line as ctx ends, even for a delay of ours
	// during which nobody tried to write: it gets no deadline.
	stop := context.AfterFunc(ctx, func() { l.cutUnless(written, sendGrace) })
	defer stop()
	if err := l.ws.Write(context.Background(), websocket.MessageText, frame); err != nil {
		return ErrGone
	}
	return nil
}

// cutUnless cuts the line unless done is closed within the time.
func (l *Line) cutUnless(done <-chan struct{}, within time.Duration) {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		l.conn.cut()
	}
}

// Drain returns when all that the socket had received before the call has been
// handed to receive, so that a deadline that fires late can still find an
// answer that was in time. It returns at once on an idle line, and in any case
// after 1 s, or 100 ms after ctx ends: a peer that never stops sending is not
// waited for.
func (l *Line) Drain(ctx context.Context) {
	t := time.NewTimer(l.drain)
	defer t.Stop()
	ended := ctx.Done()
	for {
		drained, next := l.conn.drained()
		if drained {
			return
		}
		select {
		case <-next:
		case <-l.gone:
			return
		case <-ended:
			ended = nil
			t.Reset(drainGrace)
		case <-t.C:
			return
		}
	}
}

// Close says goodbye with a close frame, waits half a second for the peer's,
// and frees the line and its reader within 1 s whatever the peer does. Once
// Close is called no further call of receive begins, CauseDropped included;
// one under way has ended when Close returns. Closing again waits as well.
func (l *Line) Close() {
	l.closing.Store(true)
	l.hangUp(websocket.StatusNormalClosure, "")
	<-l.done
}

// run reads until the line is gone.
func (l *Line) run() {
	defer close(l.done)
	for l.next() {
	}
	v := l.wire.verdict()
	if v == vOversized {
		l.deliver(nil, match.CauseOversized)
	}
	l.deliver(nil, match.CauseDropped)
	close(l.gone)
	l.farewell(v)
}

// next reads one message and hands it on.
func (l *Line) next() bool {
	kind, r, err := l.ws.Reader(context.Background())
	if err != nil {
		return false
	}
	frame, err := io.ReadAll(r)
	if err != nil {
		return false
	}
	if kind != websocket.MessageText || !utf8.Valid(frame) {
		l.deliver(bytes.ToValidUTF8(frame, []byte("\uFFFD")), match.CauseMalformed)
		return true
	}
	l.deliver(frame, "")
	return true
}

func (l *Line) deliver(frame []byte, cause string) {
	if !l.closing.Load() {
		l.receive(frame, cause)
	}
}

// farewell frees the line after its reader's end, and tells the peer why it
// was cut, as far as it listens.
func (l *Line) farewell(v verdict) {
	switch v {
	case vOversized:
		l.log.Info("cut a line: a frame over the limit")
		l.hangUp(websocket.StatusMessageTooBig, "a frame may have 65536 bytes")
	case vProtocol:
		l.log.Info("cut a line: the WebSocket protocol was broken")
		l.hangUp(websocket.StatusProtocolError, "")
	case vFlood:
		l.log.Info("cut a line: over its budget")
		l.hangUp(websocket.StatusPolicyViolation, "too much was sent")
	default:
		l.hangUp(websocket.StatusNormalClosure, "")
	}
}

// hangUp makes the closing handshake, in bounded time: the library's own Close
// waits for a peer that drips, and for every lock that a blocked call holds.
func (l *Line) hangUp(code websocket.StatusCode, reason string) {
	cut := time.AfterFunc(goodbye, l.conn.cut)
	defer cut.Stop()
	_ = l.ws.Close(code, reason)
	l.conn.cut()
}
