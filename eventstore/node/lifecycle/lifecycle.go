// Package lifecycle tells the parts of a node when it closes and when its log has
// failed, and lets Close wait for them.
package lifecycle

import (
	"errors"
	"log/slog"
	"sync"
)

// Reasons for answering no call. A client gets Unavailable for both: the
// outcome of an append that it waits for is unknown.
var (
	ErrClosed = errors.New("the node is shutting down")
	ErrFailed = errors.New("the log failed")
)

// Lifecycle is the state that all parts of a node share: whether it is open,
// closing, or its log has failed. It also counts the goroutines and calls that
// Close waits for. Safe for concurrent use.
type Lifecycle struct {
	logger *slog.Logger

	failOnce sync.Once
	failedCh chan struct{} // closed once err is set
	err      error

	mu        sync.Mutex
	closingCh chan struct{}  // closed under mu
	running   sync.WaitGroup // grows only under mu while closingCh is open
}

// New returns the lifecycle of an open node.
func New(logger *slog.Logger) *Lifecycle {
	return &Lifecycle{logger: logger, failedCh: make(chan struct{}), closingCh: make(chan struct{})}
}

// Fail records that the log cannot be written any more. Only the first cause
// counts.
func (l *Lifecycle) Fail(cause error) {
	l.failOnce.Do(func() {
		l.err = cause
		l.logger.Error("the log failed: the node acknowledges nothing any more", "error", cause)
		close(l.failedCh)
	})
}

// Failed returns a channel that is closed after fail.
func (l *Lifecycle) Failed() <-chan struct{} { return l.failedCh }

// Cause returns the error that fail was called with. It is set once failed is
// closed.
func (l *Lifecycle) Cause() error { return l.err }

// Closing returns a channel that is closed when the node closes.
func (l *Lifecycle) Closing() <-chan struct{} { return l.closingCh }

// HasFailed reports whether fail was called.
func (l *Lifecycle) HasFailed() bool {
	select {
	case <-l.failedCh:
		return true
	default:
		return false
	}
}

// Ready returns nil while calls are answered, otherwise the reason.
func (l *Lifecycle) Ready() error {
	if l.HasFailed() {
		return ErrFailed
	}
	select {
	case <-l.closingCh:
		return ErrClosed
	default:
		return nil
	}
}

// Enter adds one to the count that wait waits for, and reports whether the node
// is open. If it is, the caller calls leave once.
func (l *Lifecycle) Enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closingCh:
		return false
	default:
		l.running.Add(1)
		return true
	}
}

// Leave takes back one Enter.
func (l *Lifecycle) Leave() { l.running.Done() }

// Go starts a goroutine that wait waits for. The caller has entered and not
// left.
func (l *Lifecycle) Go(f func()) { l.running.Go(f) }

// Close announces that the node closes. It is called once.
func (l *Lifecycle) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.closingCh)
}

// Wait waits until everything that has entered has left.
func (l *Lifecycle) Wait() { l.running.Wait() }
