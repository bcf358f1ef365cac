package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"hexarena/projections/live"
)

// eventStream is the content type of server-sent events.
const eventStream = "text/event-stream"

const (
	// heartbeatEvery is how often a stream sends a comment that keeps the
	// connection alive.
	heartbeatEvery = 15 * time.Second
	// writeTime is how long a write waits for a reader that does not read. After that,
	// the server closes the stream. The reader may connect again.
	writeTime = 10 * time.Second
	// stopTime is how long a write may take after the server's shutdown has begun.
	stopTime = time.Second
	// lastTime is how long the write that ends a stream may take.
	lastTime = time.Second
	// paceAll is the minimum time between two writes to a stream of all matches, and to
	// a stream of an owner's events. If many matches are running, records arrive faster
	// than that, so each write sends many records.
	paceAll = 250 * time.Millisecond
	// streamBuffer is how many bytes the operating system may buffer for a reader. If
	// more bytes are waiting, the reader is too slow, and its stream skips to the
	// newest frame.
	streamBuffer = 64 << 10
)

var heartbeat = []byte(":\n\n")

// source supplies the records of a stream; see live.Reader. The stream calls Take after
// each change, and before each heartbeat.
type source interface {
	Take() (records [][]byte, more <-chan struct{}, ended bool)
}

// stream is a response that consists of server-sent events.
type stream struct {
	source
	pace  time.Duration                             // minimum time between two writes; 0 means no minimum
	stale func(age time.Duration) (seconds float64) // Server.stale for a stream of live boards, otherwise nil
}

// The type streams is the state that all open streams share.
type streams struct {
	stopping                  context.Context
	stop                      context.CancelFunc
	writeTime, lastTime, pace time.Duration // the constants, except in tests
}

func newStreams() *streams {
	s := &streams{writeTime: writeTime, lastTime: lastTime, pace: paceAll}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s
}

// EndStreams ends all streams, including those that begin later, so that the shutdown
// of the server does not wait for their readers.
func (s *Server) EndStreams() { s.streams.stop() }

// write implements answer. It sends records until the source ends, the reader
// disconnects or the server stops.
func (s stream) write(c *call, status int) {
	w := c.echo.Response()
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // tells proxies not to buffer the response
	w.WriteHeader(status)
	if isHead(c.request.Context()) {
		return
	}
	if conn, ok := c.request.Context().Value(connKey{}).(interface{ SetWriteBuffer(int) error }); ok {
		_ = conn.SetWriteBuffer(streamBuffer)
	}
	streams := c.server.streams
	out := streamWriter{control: http.NewResponseController(w.Writer), w: w.Writer, stopping: streams.stopping.Done(), writeTime: streams.writeTime, pace: s.pace, stale: s.stale}
	// If a write is waiting for its reader, it delays the shutdown by at most stopTime.
	// If the reader reads, the write can complete within that time.
	cut := make(chan struct{})
	unhook := context.AfterFunc(streams.stopping, func() {
		defer close(cut)
		_ = out.control.SetWriteDeadline(time.Now().Add(stopTime))
	})
	out.follow(c.request.Context(), s.source)
	if !unhook() {
		<-cut
	}
	_ = out.control.SetWriteDeadline(time.Now().Add(streams.lastTime)) // how long net/http may take to end the response
}

// streamWriter writes a stream to one reader.
type streamWriter struct {
	control   *http.ResponseController
	w         http.ResponseWriter
	stopping  <-chan struct{}
	writeTime time.Duration
	pace      time.Duration
	stale     func(time.Duration) float64
}

func (s *streamWriter) follow(ctx context.Context, from source) {
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	s.send() // the headers
	for due := false; ; {
		records, more, ended := from.Take()
		if due && !ended && len(records) == 0 {
			records = append(records, s.heartbeat())
		}
		if len(records) > 0 && !s.send(records...) || ended {
			return
		}
		if s.pace > 0 && !s.pause(ctx) {
			return
		}
		due = false
		select {
		case <-more:
			select {
			case <-beat.C: // both were ready after the pause: one Take is enough
				due = true
			default:
			}
		case <-beat.C: // the source may have ended without a change
			due = true
		case <-ctx.Done():
			return
		case <-s.stopping:
			return
		}
	}
}

// heartbeat returns a record that keeps the connection alive. While the log is
// unavailable, the record says how many seconds a live board may be out of date.
func (s *streamWriter) heartbeat() []byte {
	if s.stale == nil {
		return heartbeat
	}
	seconds := s.stale(0)
	if seconds == 0 {
		return heartbeat
	}
	return live.Record("stale", 0, fmt.Appendf(nil, `{"staleSeconds":%g}`, seconds))
}

// pause waits between two writes. It returns false if the stream must end.
func (s *streamWriter) pause(ctx context.Context) bool {
	timer := time.NewTimer(s.pace)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.stopping:
	}
	return false
}

// send writes records to the reader, and reports whether that succeeded.
func (s *streamWriter) send(records ...[]byte) bool {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.writeTime)) // fails only for test writers that do not support deadlines
	select {
	case <-s.stopping: // checked after the deadline is set, because a shutdown shortens the deadline
		return false
	default:
	}
	for _, r := range records {
		if _, err := s.w.Write(r); err != nil {
			return false
		}
	}
	return s.control.Flush() == nil
}

// lastEventID returns the seq after which the reader wants to continue, or -1 if the
// header does not contain one.
func lastEventID(h http.Header) int {
	n, err := strconv.ParseUint(h.Get("Last-Event-ID"), 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// connKey is the context key of the connection on which a request arrived.
type connKey struct{}

// ConnContext is the function for the ConnContext field of the http.Server that serves
// the API. It allows streams to limit how many bytes the operating system buffers for
// their readers.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}
