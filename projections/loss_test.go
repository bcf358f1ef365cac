package projections_test

import (
	"bytes"
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
	"hexarena/projections"
)

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
			log, model := logtest.NewLosing(memory.New()), &list{}
			at := put(t, log.Log(), "a-1", "one", "two", "three")
			r := follow(t, t.TempDir(), log, model)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { require.NoError(t, r.Run(ctx)) })
			require.NoError(t, r.Wait(ctx, at)) // Run has subscribed
			whole := r.Reading()
			require.NoError(t, whole())

			other := logtest.CopyInto(t, memory.New(), log.Log(), c.kept)
			if len(c.more) > 0 {
				put(t, other, "a-1", c.more...)
			}
			log.Become(other)
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
			if c.kept < 3 {
				require.ErrorIs(t, whole(), projections.ErrBehind, "a query during the fold")
			} else {
				require.NoError(t, whole())
			}
			require.NoError(t, r.Err())
			put(t, other, "a-1", "last")
			require.NoError(t, r.Sync(ctx))
			require.Contains(t, model.remembered(), "last")
			cancel()
			running.Wait()
		})
	}
}

// The log may have lost events, but the subscription does not end, because it began after
// that. No event follows.
func TestRunnerChecksItsRowsWhenTheyAreDoubted(t *testing.T) {
	log, model := logtest.NewLosing(memory.New()), &list{}
	at := put(t, log.Log(), "a-1", "one", "two")
	r := follow(t, t.TempDir(), log, model)
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { require.NoError(t, r.Run(ctx)) })
	require.NoError(t, r.Wait(ctx, at))
	waiting, whole := r.Changed(), r.Reading()
	r.Doubt()
	<-waiting
	for changed := r.Changed(); r.Serving() != nil; changed = r.Changed() {
		select {
		case <-changed:
		case <-t.Context().Done():
			require.Fail(t, "the rows were not checked")
		}
	}
	require.NoError(t, r.Sync(ctx))
	require.Contains(t, model.remembered(), "two")
	require.ErrorIs(t, whole(), projections.ErrBehind, "a query during the check")
	require.NoError(t, r.Reading()())
	cancel()
	running.Wait()
}

// losingOnce is a log whose first read ends because the log has lost events.
type losingOnce struct {
	eventstore.Log
	lost bool
}

func (l *losingOnce) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	if !l.lost {
		l.lost = true
		return func(yield func(eventstore.Recorded, error) bool) {
			yield(eventstore.Recorded{}, eventstore.ErrEventsLost)
		}
	}
	return l.Log.ReadAll(ctx, from, opt)
}

// If the check of the rows itself ends because of a loss, it says nothing about the rows.
// So they are checked again, and not rebuilt.
func TestRunnerChecksItsRowsAgainAfterALoss(t *testing.T) {
	log, dir := memory.New(), t.TempDir()
	put(t, log, "a-1", "one", "two")
	first := follow(t, dir, log, &list{})
	require.NoError(t, first.Sync(t.Context()))
	require.NoError(t, first.Close())

	var lines bytes.Buffer
	losing := &losingOnce{Log: log}
	again := follow(t, dir, losing, &list{}, &lines)
	require.NoError(t, again.Sync(t.Context()))
	require.True(t, losing.lost)
	require.NotContains(t, lines.String(), "rebuilding the rows")
}

// stalling is a log that can stop responding. While quiet is true, new subscriptions
// receive nothing. While slow is true, ReadAll returns nothing until its context ends.
type stalling struct {
	eventstore.Log
	subscriptions atomic.Int32 // how many there have been
	quiet, slow   atomic.Bool
}

func (s *stalling) Subscribe(ctx context.Context, after eventstore.Position, f eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	s.subscriptions.Add(1)
	if s.quiet.Load() {
		return func(func(eventstore.Message, error) bool) { <-ctx.Done() }
	}
	return s.Log.Subscribe(ctx, after, f)
}

func (s *stalling) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	if s.slow.Load() {
		return func(func(eventstore.Recorded, error) bool) { <-ctx.Done() }
	}
	return s.Log.ReadAll(ctx, from, opt)
}

// newStalling returns a stalling log, and the runner of a model that has folded it. The
// runner's position is beyond its checkpoint.
func newStalling(t *testing.T) (*stalling, *projections.Runner) {
	t.Helper()
	log := &stalling{Log: memory.New()}
	put(t, log, "a-1", "one")
	put(t, log, "b-1", "other", "other")
	r := follow(t, t.TempDir(), log, &list{})
	require.NoError(t, r.Sync(t.Context()))
	return log, r
}

// Every subscription that began before a doubt is replaced, even if a later call to Sync
// has already checked the rows.
func TestDoubtReplacesEverySubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, r := newStalling(t)
		log.quiet.Store(true)
		var running sync.WaitGroup
		for range 3 {
			running.Go(func() { require.NoError(t, r.Sync(t.Context())) })
		}
		synctest.Wait()
		require.Equal(t, int32(1+3), log.subscriptions.Load())
		log.quiet.Store(false)
		r.Doubt()
		require.NoError(t, r.Sync(t.Context()))
		running.Wait()
		require.Equal(t, int32(1+3+1+3), log.subscriptions.Load())
	})
}

// After a doubt, the log may assign positions again that the runner knows already. So Wait
// waits for the check of the rows, and then until a new subscription has reached the
// position.
func TestWaitAfterADoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, r := newStalling(t)
		at := r.Position()
		wait := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			return r.Wait(ctx, at)
		}
		require.NoError(t, wait())
		r.Doubt()
		require.ErrorIs(t, wait(), context.DeadlineExceeded, "the rows are not checked")
		log.quiet.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = r.Sync(ctx) })
		require.ErrorIs(t, wait(), context.DeadlineExceeded, "the subscription has received nothing")
		require.NoError(t, r.Serving(), "the rows are checked")
		cancel()
		running.Wait()
		log.quiet.Store(false)
		require.NoError(t, r.Sync(t.Context()))
		require.NoError(t, wait())
	})
}

// While one call waits for the log to check the rows, another one waits no longer than its
// context allows.
func TestSyncEndsWithItsContextDuringACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, r := newStalling(t)
		log.slow.Store(true)
		r.Doubt()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { require.ErrorIs(t, r.Sync(ctx), context.Canceled) })
		synctest.Wait()
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		require.ErrorIs(t, r.Sync(short), context.DeadlineExceeded)
		cancel()
		running.Wait()
		require.ErrorIs(t, r.Serving(), projections.ErrBehind, "a check that was interrupted proves nothing")
		log.slow.Store(false)
		require.NoError(t, r.Sync(t.Context()))
		require.NoError(t, r.Serving())
	})
}
