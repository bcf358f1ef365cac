package projections_test

import (
	"context"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

// losingLog is a log that can lose its newest events, as a cluster can.
type losingLog struct {
	mu   sync.Mutex
	log  *memory.Log
	lost chan struct{} // closed and replaced when the log loses events
}

func newLosingLog() *losingLog { return &losingLog{log: memory.New(), lost: make(chan struct{})} }

func (l *losingLog) now() (*memory.Log, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log, l.lost
}

// becomes replaces the log with one that contains other events.
func (l *losingLog) becomes(log *memory.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = log
	close(l.lost)
	l.lost = make(chan struct{})
}

func (l *losingLog) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	log, _ := l.now()
	return log.Append(ctx, id, expected, events...)
}

func (l *losingLog) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	log, _ := l.now()
	return log.Read(ctx, id, from, opt)
}

func (l *losingLog) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	log, _ := l.now()
	return log.ReadAll(ctx, from, opt)
}

func (l *losingLog) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) error {
	log, _ := l.now()
	return log.SetMetadata(ctx, id, m)
}

func (l *losingLog) Tombstone(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected) error {
	log, _ := l.now()
	return log.Tombstone(ctx, id, expected)
}

func (l *losingLog) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
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

// copyOf returns a log with the first events of another log, which have the same ids.
func copyOf(t *testing.T, log *memory.Log, n int) *memory.Log {
	t.Helper()
	c := memory.New()
	for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{Limit: n}) {
		require.NoError(t, err)
		_, err = c.Append(t.Context(), r.Stream, eventstore.Any, r.Event)
		require.NoError(t, err)
	}
	return c
}

// If the log loses events that the rows include, the model folds the log from scratch.
// If it loses other events, the model continues at its checkpoint. In both cases, the
// rows equal those of a rebuild.
func TestRunnerFoldsAgainWhenTheLogHasLostEvents(t *testing.T) {
	for name, c := range map[string]struct {
		kept int // events of the log that are not lost
		more []string
	}{
		"a folded event":              {2, []string{"other", "events"}},
		"a folded event, and no more": {2, nil},
		"all events":                  {0, []string{"first"}},
		"no folded event":             {3, []string{"four"}},
	} {
		t.Run(name, func(t *testing.T) {
			log, model := newLosingLog(), &list{}
			at := put(t, log.log, "a-1", "one", "two", "three")
			r := follow(t, t.TempDir(), log, model)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { require.NoError(t, r.Run(ctx)) })
			require.NoError(t, r.Wait(ctx, at)) // Run has subscribed

			other := copyOf(t, log.log, c.kept)
			if c.kept == 0 {
				other = memory.New()
			}
			if len(c.more) > 0 {
				put(t, other, "a-1", c.more...)
			}
			log.becomes(other)
			want := &list{}
			fresh := follow(t, t.TempDir(), other, want)
			require.NoError(t, fresh.Sync(t.Context()))
			for changed := r.Changed(); model.remembered() != want.remembered() || r.Serving() != nil; changed = r.Changed() {
				select {
				case <-changed:
				case <-t.Context().Done():
					require.Fail(t, "the model did not fold the log again")
				}
			}
			require.NoError(t, r.Sync(ctx))
			require.Equal(t, dump(t, fresh), dump(t, r))
			require.NoError(t, r.Err())
			put(t, other, "a-1", "last")
			require.NoError(t, r.Sync(ctx))
			require.Contains(t, model.remembered(), "last")
			cancel()
			running.Wait()
		})
	}
}
