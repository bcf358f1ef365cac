package api

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// script is a source whose records the test adds.
type script struct {
	mu      sync.Mutex
	pending []string
	ended   bool
	moved   chan struct{}
}

func newScript() *script { return &script{moved: make(chan struct{})} }

func (s *script) add(records ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, records...)
	close(s.moved)
	s.moved = make(chan struct{})
}

func (s *script) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.add()
}

func (s *script) Take() (records [][]byte, more <-chan struct{}, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.pending {
		records = append(records, []byte(r))
	}
	s.pending = nil
	return records, s.moved, s.ended
}

// socket stores everything written to it. While the socket is stuck, a write blocks
// until its deadline, as if the reader did not read.
type socket struct {
	http.ResponseWriter

	mu       sync.Mutex
	took     strings.Builder
	flushed  int // bytes
	stuck    bool
	deadline time.Time
}

func (s *socket) setStuck(stuck bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = stuck
}

func (s *socket) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	return nil
}

func (s *socket) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.stuck {
		left := time.Until(s.deadline)
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		s.mu.Unlock()
		timer := time.NewTimer(min(left, 100*time.Millisecond))
		<-timer.C
		s.mu.Lock()
	}
	return s.took.Write(p)
}

func (s *socket) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushed = s.took.Len()
	return nil
}

// text returns the text that has reached the reader.
func (s *socket) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took.String()[:s.flushed]
}

// The function streaming() runs a test of a stream in a synctest bubble. The channel
// done is closed when the stream has ended.
func streaming(t *testing.T, f func(t *testing.T, from *script, to *socket, stop, leave func(), done <-chan struct{})) {
	synctest.Test(t, func(t *testing.T) {
		from, to, done := newScript(), &socket{}, make(chan struct{})
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		stopping, stop := context.WithCancelCause(context.Background())
		defer stop(nil)
		line := streamWriter{control: http.NewResponseController(to), w: to, stopping: stopping.Done(), writeTime: writeTime}
		go func() { defer close(done); line.follow(ctx, from) }()
		f(t, from, to, func() { stop(errors.New("the server stops")) }, leave, done)
		from.end()
		<-done
	})
}

// Each record reaches the reader immediately. While there are no records, the
// stream sends comments as heartbeats.
func TestHeartbeats(t *testing.T) {
	streaming(t, func(t *testing.T, from *script, to *socket, _, _ func(), done <-chan struct{}) {
		from.add("a\n\n", "b\n\n")
		synctest.Wait()
		require.Equal(t, "a\n\nb\n\n", to.text())
		<-time.After(3*heartbeatEvery + time.Second)
		synctest.Wait()
		require.Equal(t, "a\n\nb\n\n"+strings.Repeat(":\n\n", 3), to.text())
		from.add("c\n\n")
		from.end()
		<-done
		require.True(t, strings.HasSuffix(to.text(), ":\n\nc\n\n"))
	})
}

// While the log is unavailable, the heartbeats of a live board say how old it may be.
func TestHeartbeatsSayHowOldABoardIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to, done := newScript(), &socket{}, make(chan struct{})
		began := time.Now()
		away := func(time.Duration) float64 { return max(0, (time.Since(began) - heartbeatEvery).Seconds()) }
		line := streamWriter{control: http.NewResponseController(to), w: to, stopping: make(chan struct{}), writeTime: writeTime, stale: away}
		go func() { defer close(done); line.follow(t.Context(), from) }()
		<-time.After(2*heartbeatEvery + time.Second)
		synctest.Wait()
		require.Equal(t, ":\n\nevent: stale\ndata: {\"staleSeconds\":15}\n\n", to.text())
		from.end()
		<-done
	})
}

// If a reader does not read for writeTime, the server closes the stream. If the reader
// only reads slowly, the stream stays open.
func TestReaderThatDoesNotRead(t *testing.T) {
	streaming(t, func(t *testing.T, from *script, to *socket, _, _ func(), done <-chan struct{}) {
		to.setStuck(true)
		from.add("a\n\n")
		<-time.After(writeTime - time.Second)
		to.setStuck(false)
		<-time.After(time.Second)
		synctest.Wait()
		require.Equal(t, "a\n\n", to.text())
		to.setStuck(true)
		from.add("b\n\n")
		<-time.After(writeTime + time.Second)
		<-done
		require.Equal(t, "a\n\n", to.text())
	})
}

// A stream ends when its reader disconnects, and when its server stops.
func TestStreamsEnd(t *testing.T) {
	for name, end := range map[string]func(stop, leave func()){
		"the reader goes":  func(_, leave func()) { leave() },
		"the server stops": func(stop, _ func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			streaming(t, func(t *testing.T, from *script, to *socket, stop, leave func(), done <-chan struct{}) {
				from.add("a\n\n")
				synctest.Wait()
				end(stop, leave)
				<-done
				require.Equal(t, "a\n\n", to.text())
			})
		})
	}
}
