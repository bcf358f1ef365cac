package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/referee"
	"hexarena/cmd/arena/demo"
	"hexarena/domain/ladder"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/signedlog"
)

// headsFixture holds an event log, its signed log and the heads. The tests sync the
// read model explicitly.
type headsFixture struct {
	*ladderHeads
	t    *testing.T
	play *arenatest.Arena
	bots int
}

func newHeadsFixture(t *testing.T) *headsFixture {
	log := memory.New()
	model := signedlog.New(log)
	reader := newSignedLogReader(model, arenatest.Follow(t, log, model))
	sign := func(mode string, size uint64, root []byte) (ladderHead, error) {
		return ladderHead{Head: signedlog.Head{Origin: mode, Size: size, Root: root}, Signed: []byte(mode)}, nil
	}
	f := &headsFixture{ladderHeads: newLadderHeads(reader, sign, slog.New(slog.DiscardHandler)), t: t, play: arenatest.New(t, log, 1)}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return f
}

// seat seats another table.
func (f *headsFixture) seat() *arenatest.Game {
	f.bots++
	names := []string{"a", "b", "c"}
	for i := range names {
		names[i] += string(rune('0' + f.bots))
	}
	return f.play.Seat(ladder.Standard, f.play.Register("ada", ladder.Standard, names...)...)[0]
}

func (f *headsFixture) fold() { require.NoError(f.t, f.log.runner.Sync(context.Background())) }

// catchUp is like signedLogReader.catchUp in a process whose runner does not run.
func (f *headsFixture) catchUp() {
	f.fold()
	close(f.log.whole)
}

func (f *headsFixture) size() uint64 {
	f.t.Helper()
	size, _, err := f.Checkpoint(ladder.Standard)
	require.NoError(f.t, err)
	return size
}

// The method published() calls Publish in the background, and returns a channel for the
// result.
func (f *headsFixture) published(ctx context.Context, revision uint64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f.Publish(ctx, ladder.Standard, revision) }()
	synctest.Wait()
	return done
}

// Publish waits until a served head includes the revision. After a start, no head is
// served before the read model includes every event that was in the log.
func TestPublishWaitsForAHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newHeadsFixture(t)
		f.seat()
		f.fold()
		synctest.Wait()
		_, _, err := f.Checkpoint(ladder.Standard)
		require.ErrorIs(t, err, projections.ErrBehind, "the model may still miss events")
		first := f.published(context.Background(), 0)
		require.Empty(t, first)
		f.catchUp()
		require.NoError(t, <-first)
		require.EqualValues(t, 1, f.size())
		require.NoError(t, f.Publish(context.Background(), ladder.Standard, 0))

		synctest.Wait() // until the other mode also has its first head
		changed := f.Changed()
		second := f.published(context.Background(), 1)
		f.seat()
		synctest.Wait()
		require.Empty(t, second, "the model is behind")
		require.EqualValues(t, 1, f.size())
		require.NotPanics(t, func() {
			select {
			case <-changed:
				panic("there is no new head")
			default:
			}
		})
		f.fold()
		require.NoError(t, <-second)
		<-changed
		require.EqualValues(t, 2, f.size())
	})
}

// If the read model has stopped, Publish waits until its context ends, and the served
// checkpoint stays out of date.
func TestPublishWaitsWhenTheModelHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newHeadsFixture(t)
		f.catchUp()
		synctest.Wait()
		require.Zero(t, f.size())
		contradiction := f.seat()
		contradiction.Start()
		contradiction.Void(ladder.WhyOperator) // contradicts the match's stream, which has no end event
		require.Error(t, f.log.runner.Sync(context.Background()))
		ctx, cancel := context.WithCancel(context.Background())
		waiting := f.published(ctx, 0)
		<-time.After(time.Hour)
		require.Empty(t, waiting)
		_, _, err := f.Checkpoint(ladder.Standard)
		require.ErrorIs(t, err, projections.ErrStopped)
		cancel()
		require.ErrorIs(t, <-waiting, context.Canceled)
	})
}

// While the read model checks whether the log has lost events, no head is served. After
// that, the newest head is served again, and Publish does not wait for a newer one.
func TestPublishWhenAHeadIsServedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newHeadsFixture(t)
		f.seat()
		f.catchUp()
		require.NoError(t, f.Publish(context.Background(), ladder.Standard, 0))
		synctest.Wait() // until the other mode also has its first head
		f.log.runner.Doubt()
		waiting := f.published(context.Background(), 0)
		require.Empty(t, waiting)
		f.fold()
		require.NoError(t, <-waiting)
		require.EqualValues(t, 1, f.size())
	})
}

// If a tree lost its end and is whole again, its head is served again, even if the tree does
// not grow.
func TestHeadIsServedOnceTheTreeIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newHeadsFixture(t)
		var err error
		f.kept, err = openKeptHeads(t.TempDir())
		require.NoError(t, err)
		f.seat()
		f.catchUp()
		require.NoError(t, f.Publish(context.Background(), ladder.Standard, 0))
		synctest.Wait() // until the other mode also has its first head
		require.ErrorIs(t, f.kept.keepNewest(signedlog.Head{Origin: ladder.Standard}, nil), errShorter)
		_, _, err = f.Checkpoint(ladder.Standard)
		require.ErrorIs(t, err, projections.ErrBehind)
		require.NoError(t, f.check(context.Background()))
		require.EqualValues(t, 1, f.size())

		// The same is true for the tree of the results, which the arena signs only on request.
		none := func(uint64, uint64) ([][]byte, error) { return nil, nil }
		results := signedlog.Head{Origin: "results", Size: 2, Root: make([]byte, 32)}
		require.NoError(t, f.kept.keep(results, none))
		require.Error(t, f.kept.keep(signedlog.Head{Origin: "results", Size: 3, Root: make([]byte, 32)}, none))
		_, _, err = f.Checkpoint(ladder.Standard)
		require.ErrorIs(t, err, projections.ErrBehind)
		f.recheck = func(context.Context, string) error { return f.kept.keep(results, none) }
		require.NoError(t, f.check(context.Background()))
		require.EqualValues(t, 1, f.size())
	})
}

// A failure to sign a head is retried.
func TestHeadIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newHeadsFixture(t)
		sign, failures := f.sign, 2 // one for each mode
		f.sign = func(mode string, size uint64, root []byte) (ladderHead, error) {
			if failures--; failures >= 0 {
				return ladderHead{}, errors.New("no head")
			}
			return sign(mode, size, root)
		}
		began := time.Now()
		f.seat()
		f.catchUp()
		require.NoError(t, f.Publish(context.Background(), ladder.Standard, 0))
		require.Equal(t, headRetry, time.Since(began).Truncate(headRetry))
	})
}

// In a checkpoint, the cosignatures follow the arena's signature.
func TestCheckpointHasCosignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newHeadsFixture(t)
		f.catchUp()
		synctest.Wait()
		head, err := f.Head(ladder.Parley)
		require.NoError(t, err)
		require.Zero(t, head.Size)
		_, signed, err := f.Checkpoint(ladder.Parley)
		require.NoError(t, err)
		require.Equal(t, head.Signed, signed)
		f.cosigned = func(mode string, h ladderHead) []byte {
			require.Equal(t, head, h)
			return []byte("of " + mode + "\n")
		}
		_, signed, err = f.Checkpoint(ladder.Parley)
		require.NoError(t, err)
		require.Equal(t, string(head.Signed)+"of parley\n", string(signed))
	})
}

// BenchmarkStartOfAMatch measures the time from seating a table until a bot receives
// the first upgrade request. It compares pairs of matches: one waits for its signed
// head, and the other does not. The order within the pairs alternates. The arena has
// all its parts and uses real sockets.
func BenchmarkStartOfAMatch(b *testing.B) {
	data := b.TempDir()
	c, _, err := parsed([]string{
		"serve", "--data", data, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--node-listen", "127.0.0.1:0", "--tick", "24h", "--rest-standard", "0s",
	})
	require.NoError(b, err)
	logger := slog.New(slog.DiscardHandler)
	a, err := open(b.Context(), c, logger)
	require.NoError(b, err)
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.run(ctx) }()
	b.Cleanup(func() { stop(); require.NoError(b, <-ended) })

	upgrades := make(chan time.Time, 100)
	owner := &demo.Owner{Base: a.baseURL}
	require.NoError(b, owner.SignUp(ctx, filepath.Join(data, "mail"), "ada@example.org", "ada"))
	for _, name := range []string{"Ann", "Bea", "Cat"} {
		bot := newTestBot(b, name)
		bot.upgrade = func(http.Header) { upgrades <- time.Now() }
		require.NoError(b, owner.Register(ctx, name, ladder.Standard, bot.url))
	}
	require.NoError(b, a.heads.log.awaitWhole(ctx))
	standard := a.ladders[0]
	waits := a.player.referee
	starts := referee.New(referee.Options{
		Log: a.log, Dial: a.dial, Player: a.player.folder.ID, Logger: logger, Bots: a.directory.Bot, ServerSeed: referee.SeedsFromKeys(a.secrets.SeedKey),
		Modes:   map[string]referee.Mode{ladder.Standard: {Decision: a.DecisionStandard, Wall: a.WallStandard, Ladder: standard}},
		Publish: func(context.Context, ladder.Seating) error { return nil },
	})
	start := func(r *referee.Referee) time.Duration {
		candidates, err := a.directory.Candidates(ctx, ladder.Standard)
		require.NoError(b, err)
		require.Len(b, candidates, 3)
		began := time.Now()
		_, err = standard.Seat(ctx, candidates, began, 0, func(context.Context) error { return nil })
		require.NoError(b, err)
		unfinished, err := standard.Unfinished(ctx)
		require.NoError(b, err)
		require.Len(b, unfinished, 1)
		r.Play(unfinished[0])
		took := (<-upgrades).Sub(began)
		<-upgrades
		<-upgrades
		require.NoError(b, r.Abort(ctx, unfinished[0], referee.Order{Reason: "a benchmark"}))
		r.Wait()
		require.NoError(b, a.heads.Publish(ctx, ladder.Standard, unfinished[0].Revision+1)) // wait, so that the read models are idle when the next match starts
		return took
	}
	for range 10 { // warm up
		start(waits)
		start(starts)
	}
	var with, without, delays []time.Duration
	for n := 0; b.Loop(); n++ {
		var w, wo time.Duration
		if n%2 == 0 {
			w, wo = start(waits), start(starts)
		} else {
			wo, w = start(starts), start(waits)
		}
		with, without, delays = append(with, w), append(without, wo), append(delays, w-wo)
	}
	for name, list := range map[string][]time.Duration{"ms-with": with, "ms-without": without, "ms-delay": delays} {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, name)
	}
}
