package node

import (
	"errors"
	"log/slog"
	"sync"
)

// Reasons for answering no call. A client gets Unavailable for both: the
// outcome of an append that it waits for is unknown.
var (
	errClosed = errors.New("the node is shutting down")
	errFailed = errors.New("the log failed")
)

// lifecycle is the state that all parts of a node share: whether it is open,
// closing, or its log has failed. It also counts the goroutines and calls that
// Close waits for. Safe for concurrent use.
type lifecycle struct {
	logger *slog.Logger

	failOnce sync.Once
	failed   chan struct{} // closed once cause is set
	cause    error

	mu      sync.Mutex
	closing chan struct{}  // closed under mu
	running sync.WaitGroup // grows only under mu while closing is open
}

func newLifecycle(logger *slog.Logger) *lifecycle {
	return &lifecycle{logger: logger, failed: make(chan struct{}), closing: make(chan struct{})}
}

// fail records that the log cannot be written any more. Only the first cause
// counts.
func (l *lifecycle) fail(cause error) {
	l.failOnce.Do(func() {
		l.cause = cause
		l.logger.Error("the log failed: the node acknowledges nothing any more", "error", cause)
		close(l.failed)
	})
}

// hasFailed reports whether fail was called.
func (l *lifecycle) hasFailed() bool {
	select {
	case <-l.failed:
		return true
	default:
		return false
	}
}

// ready returns nil while calls are answered, otherwise the reason.
func (l *lifecycle) ready() error {
	if l.hasFailed() {
		return errFailed
	}
	select {
	case <-l.closing:
		return errClosed
	default:
		return nil
	}
}

// enter adds one to the count that wait waits for, and reports whether the node
// is open. If it is, the caller calls leave once.
func (l *lifecycle) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closing:
		return false
	default:
		l.running.Add(1)
		return true
	}
}

func (l *lifecycle) leave() { l.running.Done() }

// begin starts a goroutine that wait waits for. The caller has entered and not
// left.
func (l *lifecycle) begin(f func()) { l.running.Go(f) }

// close announces that the node closes. It is called once.
func (l *lifecycle) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.closing)
}

// wait waits until everything that has entered has left.
func (l *lifecycle) wait() { l.running.Wait() }
