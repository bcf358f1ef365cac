package logtest

import (
	"context"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

// Losing is a log that can lose its newest events, as a cluster can. Subscriptions end
// with eventstore.ErrEventsLost then. Create it with NewLosing, and call Become to lose
// events.
type Losing struct {
	mu   sync.Mutex
	log  eventstore.Log
	lost chan struct{} // closed and replaced when the log loses events
}

// NewLosing returns a Losing that passes calls to log.
func NewLosing(log eventstore.Log) *Losing { return &Losing{log: log, lost: make(chan struct{})} }

// Log returns the log to which calls are passed now.
func (l *Losing) Log() eventstore.Log {
	log, _ := l.now()
	return log
}

func (l *Losing) now() (eventstore.Log, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log, l.lost
}

// Become replaces the log with one that contains other events. CopyInto makes such a
// log.
func (l *Losing) Become(log eventstore.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = log
	close(l.lost)
	l.lost = make(chan struct{})
}

// Append implements eventstore.Log.
func (l *Losing) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	log, _ := l.now()
	return log.Append(ctx, id, expected, events...)
}

// Read implements eventstore.Log.
func (l *Losing) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	log, _ := l.now()
	return log.Read(ctx, id, from, opt)
}

// ReadAll implements eventstore.Log.
func (l *Losing) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	log, _ := l.now()
	return log.ReadAll(ctx, from, opt)
}

// SetMetadata implements eventstore.Log.
func (l *Losing) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) error {
	log, _ := l.now()
	return log.SetMetadata(ctx, id, m)
}

// Tombstone implements eventstore.Log.
func (l *Losing) Tombstone(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected) error {
	log, _ := l.now()
	return log.Tombstone(ctx, id, expected)
}

// Subscribe implements eventstore.Log.
func (l *Losing) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		log, lost := l.now()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-lost:
				cancel()
			case <-ctx.Done():
			}
		}()
		for m, err := range log.Subscribe(ctx, after, filter) {
			if !yield(m, err) {
				return
			}
		}
		select {
		case <-lost:
			yield(eventstore.Message{}, eventstore.ErrEventsLost)
		default:
		}
	}
}

// CopyInto appends the first n events of a log to an empty log, and returns that log.
// The copies have the same ids.
func CopyInto[L eventstore.Log](t *testing.T, to L, from eventstore.Log, n int) L {
	t.Helper()
	if n == 0 {
		return to
	}
	for r, err := range from.ReadAll(t.Context(), 0, eventstore.ReadOptions{Limit: n}) {
		require.NoError(t, err)
		_, err = to.Append(t.Context(), r.Stream, eventstore.Any, r.Event)
		require.NoError(t, err)
	}
	return to
}
