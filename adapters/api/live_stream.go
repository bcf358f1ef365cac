package api

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const streamType = "text/event-stream"

const (
	// beatEvery is how often a stream says that it is there.
	beatEvery = 15 * time.Second
	// writeTime is how long a reader may take to make room for what is written.
	// One that stops reading is cut off then; it may come again.
	writeTime = 10 * time.Second
	// stopTime is how long a write may still take once the server stops.
	stopTime = time.Second
	// lastTime is how long the end of a stream may take to be written.
	lastTime = time.Second
	// streamBuffer is how many bytes may wait in the system for a reader: what
	// is more makes it slow, and then it is dropped to the newest frame.
	streamBuffer = 64 << 10
	// streamRetry is after how many seconds one more stream may be tried.
	streamRetry = 10
)

var heartbeat = []byte(":\n\n")

// source is what a stream shows; see live.Reader.
type source interface {
	Take() (records [][]byte, more <-chan struct{}, ended bool)
}

// stream is an answer that goes on as server-sent events.
type stream struct{ source }

type streamOutput struct{ Body stream }

// serve writes what comes until it ends, the reader goes or the server stops.
func (s stream) serve(c *call) {
	w := c.echo.Response()
	h := w.Header()
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // proxies that keep answers back heed it
	w.WriteHeader(http.StatusOK)
	if isHead(c.request.Context()) {
		return
	}
	if conn, ok := c.request.Context().Value(connKey{}).(interface{ SetWriteBuffer(int) error }); ok {
		_ = conn.SetWriteBuffer(streamBuffer)
	}
	streams := c.server.streams
	line := streamLine{control: http.NewResponseController(w.Writer), w: w.Writer, stopping: streams.stopping.Done(), writeTime: streams.writeTime}
	// A write that waits for its reader holds up a stop by stopTime at most. A
	// write to a reader that reads has that time to complete.
	cut := make(chan struct{})
	unhook := context.AfterFunc(streams.stopping, func() {
		defer close(cut)
		_ = line.control.SetWriteDeadline(time.Now().Add(stopTime))
	})
	line.follow(c.request.Context(), s.source)
	if !unhook() {
		<-cut
	}
	_ = line.control.SetWriteDeadline(time.Now().Add(streams.lastTime)) // for the answer's proper end
}

// streamLine is the way to one reader.
type streamLine struct {
	control   *http.ResponseController
	w         http.ResponseWriter
	stopping  <-chan struct{}
	writeTime time.Duration
}

func (l *streamLine) follow(ctx context.Context, from source) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	l.send() // the headers
	for {
		records, more, ended := from.Take()
		if len(records) > 0 && !l.send(records...) || ended {
			return
		}
		select {
		case <-more:
		case <-beat.C:
			if !l.send(heartbeat) {
				return
			}
		case <-ctx.Done():
			return
		case <-l.stopping:
			return
		}
	}
}

// send says whether the reader took it.
func (l *streamLine) send(records ...[]byte) bool {
	_ = l.control.SetWriteDeadline(time.Now().Add(l.writeTime)) // not every test's writer has one
	select {
	case <-l.stopping: // asked once the deadline is set, which a stop moves
		return false
	default:
	}
	for _, r := range records {
		if _, err := l.w.Write(r); err != nil {
			return false
		}
	}
	return l.control.Flush() == nil
}

// resumesAfter is the seq behind which a reader goes on, -1 where it names none.
func resumesAfter(h http.Header) int {
	id := h.Get("Last-Event-ID")
	n, err := strconv.ParseUint(id, 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// openStreams counts the streams of each address.
type openStreams struct {
	limit    int // 0: none
	stopping context.Context
	stop     context.CancelFunc

	writeTime, lastTime time.Duration // the constants, unless a test sets others

	mu sync.Mutex
	of map[addressKey]int
}

func newOpenStreams(limit int) *openStreams {
	o := &openStreams{limit: limit, of: map[addressKey]int{}, writeTime: writeTime, lastTime: lastTime}
	o.stopping, o.stop = context.WithCancel(context.Background())
	return o
}

// take opens one more, or says false.
func (o *openStreams) take(k addressKey) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.limit > 0 && o.of[k] >= o.limit {
		return false
	}
	o.of[k]++
	return true
}

func (o *openStreams) release(k addressKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of[k]--; o.of[k] == 0 {
		delete(o.of, k)
	}
}

// openStream counts a stream against its reader's address until closed is
// called.
func (c *call) openStream() (closed func(), err error) {
	key := keyOf(clientAddress(c.request, c.server.limits.trusted))
	if !c.server.streams.take(key) {
		return func() {}, &rateLimited{open: c.server.streams.limit, after: streamRetry}
	}
	return func() { c.server.streams.release(key) }, nil
}

// EndStreams ends all streams, now and from now on: a server that stops does not
// wait for who reads them.
func (s *Server) EndStreams() { s.streams.stop() }

type (
	connKey struct{}
	headKey struct{}
)

// ConnContext is for the http.Server that serves the API: it lets streams bound
// what waits in the system for their readers.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// isHead says whether the request was a HEAD.
func isHead(ctx context.Context) bool {
	is, _ := ctx.Value(headKey{}).(bool)
	return is
}
