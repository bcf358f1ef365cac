// Package lifecycle tells the parts of a node when the node closes and when its log
// has failed. It also lets the node wait, when it closes, until all parts have
// finished.
package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
)

// These are the reasons why a node rejects all calls. Clients get Unavailable in
// both cases, because the outcome of their pending appends is unknown.
var (
	ErrClosed = errors.New("the node is shutting down")
	ErrFailed = errors.New("the log failed")
)

// Lifecycle is the state that all parts of a node share: whether the node is open
// or closing, and whether its log has failed. It also counts the goroutines and
// calls that Wait waits for. A Lifecycle is safe for concurrent use.
type Lifecycle struct {
	logger *slog.Logger

	failOnce sync.Once
	failed   context.Context // ends when the log fails, with the cause of the failure
	fail     context.CancelCauseFunc

	mu       sync.Mutex
	closing  context.Context // canceled only while mu is held
	announce context.CancelFunc
	running  sync.WaitGroup // grows only while mu is held and the node is not closing

	open context.Context // ends when failed or closing ends; the cause is ErrFailed or ErrClosed
	end  context.CancelCauseFunc
}

// New returns the lifecycle of an open node.
func New(logger *slog.Logger) *Lifecycle {
	l := &Lifecycle{logger: logger}
	l.failed, l.fail = context.WithCancelCause(context.Background())
	l.closing, l.announce = context.WithCancel(context.Background())
	l.open, l.end = context.WithCancelCause(context.Background())
	return l
}

// Fail records that the log can no longer be written to. Only the first call
// counts.
func (l *Lifecycle) Fail(cause error) {
	l.failOnce.Do(func() {
		l.logger.Error("the log failed: the node no longer acknowledges appends", "error", cause)
		l.end(ErrFailed)
		l.fail(cause)
	})
}

// Failed returns a channel that is closed after Fail.
func (l *Lifecycle) Failed() <-chan struct{} { return l.failed.Done() }

// HasFailed reports whether Fail was called.
func (l *Lifecycle) HasFailed() bool { return l.failed.Err() != nil }

// Cause returns the error that Fail was called with, or nil.
func (l *Lifecycle) Cause() error { return context.Cause(l.failed) }

// Closing returns a channel that is closed when the node closes.
func (l *Lifecycle) Closing() <-chan struct{} { return l.closing.Done() }

// Open returns a context that ends when the node closes or the log fails.
func (l *Lifecycle) Open() context.Context { return l.open }

// Ready returns nil while the node serves calls, and otherwise ErrClosed or
// ErrFailed.
func (l *Lifecycle) Ready() error { return context.Cause(l.open) }

// Enter returns false if the node is closing. If it returns true, the caller must call
// Leave once, and Wait does not return before that call.
func (l *Lifecycle) Enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Err() != nil {
		return false
	}
	l.running.Add(1)
	return true
}

// Leave undoes one successful Enter.
func (l *Lifecycle) Leave() { l.running.Done() }

// Go starts a goroutine that Wait waits for. Call it only between Enter and
// Leave.
func (l *Lifecycle) Go(f func()) { l.running.Go(f) }

// Close announces that the node is closing. Call it only once.
func (l *Lifecycle) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.announce()
	l.end(ErrClosed)
}

// Wait waits until every caller of Enter has left and every goroutine that Go
// started has ended.
func (l *Lifecycle) Wait() { l.running.Wait() }
