package botwire

import (
	"bytes"
	"context"
	"errors"
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
	sendGrace  = 250 * time.Millisecond // how long a write may take to finish after its context has ended
	goodbye    = 500 * time.Millisecond // time limit of the closing handshake
	drainTime  = time.Second            // time limit of a drain, without the grace
	drainGrace = 100 * time.Millisecond // how much longer a drain may take after its limit, or after its context has ended
)

// Receive is the callback for the frames of a line. For a text frame, cause is "". For
// a frame that is not valid text, cause is match.CauseMalformed. For a frame over
// FrameLimit, cause is match.CauseOversized and frame is nil. After the last frame, the
// line makes one more call, with match.CauseDropped and a nil frame. All calls come
// from the line's reading goroutine, one at a time. The callback may keep the frame. It
// must not block, and must not call Close or Drain.
type Receive = func(frame []byte, cause string)

// Line is an open WebSocket connection to a bot. Its methods are safe for concurrent
// use.
type Line struct {
	ws      *websocket.Conn
	wire    *wire
	conn    *conn
	receive Receive
	log     *slog.Logger
	drain   time.Duration // the limit of a Drain

	closing atomic.Bool
	fault   atomic.Pointer[match.Fault]
	gone    chan struct{} // closed after the last call to receive
	done    chan struct{} // closed when the reading goroutine has ended
}

// Dial opens a bot's socket for a match and returns it as a line. The line reads from
// the socket until the connection ends. Dial may call receive before it returns. ctx
// and a limit of 5 s apply to the dial, not to the line.
//
// The result accepted contains the values of the bot's own headers. If the address is
// not allowed, the error's NotAllowed method returns true. The error does not contain
// the URL or an address.
func (d *Dialer) Dial(ctx context.Context, url, matchID string, u Upgrade, receive Receive) (
	line *Line, accepted Accepted, err error,
) {
	line, header, err := d.open(ctx, url, matchID, u)
	if err != nil {
		return nil, Accepted{}, err
	}
	d.start(line, matchID, receive)
	return line, acceptedBy(header), nil
}

// start starts the line's reading goroutine.
func (d *Dialer) start(line *Line, matchID string, receive Receive) {
	line.receive, line.log, line.drain = receive, d.options.Logger.With("match", matchID), d.draining
	go line.run()
}

// open sends the signed upgrade. It returns the line and the header of the response.
// The caller must start the line's reading goroutine.
func (d *Dialer) open(ctx context.Context, url, matchID string, u Upgrade) (*Line, http.Header, error) {
	to, err := d.guard.parse(url)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	a := &attempt{dialer: d, ctx: ctx}
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{ //nolint:bodyclose // the library closes the response body, which is the wire
		HTTPClient: &http.Client{Transport: a, CheckRedirect: noRedirect},
		HTTPHeader: d.signed(to, matchID, u),
	})
	if err != nil {
		var known *failure
		if !errors.As(err, &known) {
			known = errUpgrade // the library rejected the 101 response
		}
		return nil, nil, known
	}
	if !a.keep() {
		_ = ws.CloseNow()
		return nil, nil, errAnswer
	}
	ws.SetReadLimit(FrameLimit)
	a.wire.open.Store(true)
	line := &Line{ws: ws, wire: a.wire, conn: a.conn, gone: make(chan struct{}), done: make(chan struct{})}
	return line, a.header, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Send writes a text frame. If the peer does not read, Send blocks until shortly after
// ctx ends. Then it cuts the line, because part of the frame may already have been
// written.
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
	// Do not pass a deadline to the library. With a deadline, the library would cut the
	// line as soon as ctx ends, even if this process and not the peer caused the delay.
	stop := context.AfterFunc(ctx, func() { l.cutUnless(written, sendGrace) })
	defer stop()
	if err := l.ws.Write(context.Background(), websocket.MessageText, frame); err != nil {
		l.awaitReader()
		return ErrGone
	}
	return nil
}

// awaitReader waits until the line's reading goroutine has ended, because only that
// goroutine knows the fault of a broken line. It waits at most sendGrace.
func (l *Line) awaitReader() {
	t := time.NewTimer(sendGrace)
	defer t.Stop()
	select {
	case <-l.gone:
	case <-t.C:
	}
}

// cutUnless cuts the line unless the channel done is closed within the given time.
func (l *Line) cutUnless(done <-chan struct{}, within time.Duration) {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-done:
		return
	case <-t.C:
	}
	select {
	case <-done: // after a pause of this process, both channels may be ready
	default:
		l.fault.CompareAndSwap(nil, &notReading)
		l.conn.cut()
	}
}

// Drain waits until receive has been called with every frame that had reached the
// socket when Drain was called. Without Drain, the arena could miss an answer that
// arrived just before the deadline. On an idle line, Drain returns immediately. Even if
// the peer never stops sending, Drain returns within 1.1 s, and within 100 ms after ctx ends.
func (l *Line) Drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.drain)
	defer cancel()
	ended := ctx.Done()
	var late <-chan time.Time
	for {
		drained, next := l.conn.drained()
		if drained {
			return
		}
		select {
		case <-next:
		case <-l.gone:
			return
		case <-ended: // if this process was paused, the reader may not have run yet
			ended, late = nil, time.After(drainGrace)
		case <-late:
			return
		}
	}
}

// Close sends a close frame, and waits up to half a second for the peer's close frame.
// It frees the line within 1 s, even if the peer does not cooperate. After Close has
// been called, no new call to receive starts, not even with CauseDropped. When Close
// returns, any running call to receive has ended. A second call to Close also waits
// until the line's reading goroutine has ended.
func (l *Line) Close() {
	l.closing.Store(true)
	l.hangUp(websocket.StatusNormalClosure, "")
	<-l.done
}

// run reads until the line ends.
func (l *Line) run() {
	defer close(l.done)
	err := l.next()
	for err == nil {
		err = l.next()
	}
	v := l.wire.verdict()
	l.fault.CompareAndSwap(nil, faultOf(v, err))
	if v == vOversized {
		l.deliver(nil, match.CauseOversized)
	}
	l.deliver(nil, match.CauseDropped)
	close(l.gone)
	l.finish(v)
}

// The method next() reads one message and delivers it. It returns an error at the end
// of the line.
func (l *Line) next() error {
	kind, r, err := l.ws.Reader(context.Background())
	if err != nil {
		return err
	}
	frame, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if kind != websocket.MessageText || !utf8.Valid(frame) {
		l.deliver(bytes.ToValidUTF8(frame, []byte("\uFFFD")), match.CauseMalformed)
		return nil
	}
	l.deliver(frame, "")
	return nil
}

func (l *Line) deliver(frame []byte, cause string) {
	if !l.closing.Load() {
		l.receive(frame, cause)
	}
}

// The variable cuts describes the reasons for cutting a line, for the log and for the
// close frame.
var cuts = map[verdict]struct {
	logged string
	code   websocket.StatusCode
	reason string
}{
	vOversized: {"its frame exceeds the size limit", websocket.StatusMessageTooBig, "a frame may have at most 65536 bytes"},
	vProtocol:  {"it violated the WebSocket protocol", websocket.StatusProtocolError, ""},
	vFlood:     {"it exceeded its budget of bytes or pings", websocket.StatusPolicyViolation, "budget of bytes or pings exceeded"},
}

// finish frees the line after the last read. If the line was cut, finish sends the
// reason in the close frame.
func (l *Line) finish(v verdict) {
	cut, ok := cuts[v]
	if !ok {
		l.hangUp(websocket.StatusNormalClosure, "")
		return
	}
	l.log.Info("cut the connection to a bot: " + cut.logged)
	l.hangUp(cut.code, cut.reason)
}

// hangUp performs the closing handshake within a time limit. The library's Close has no
// such limit: it waits for slow peers, and for locks that blocked calls hold.
func (l *Line) hangUp(code websocket.StatusCode, reason string) {
	cut := time.AfterFunc(goodbye, l.conn.cut)
	defer cut.Stop()
	_ = l.ws.Close(code, reason)
	l.conn.cut()
}
