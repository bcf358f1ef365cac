package referee

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// TestStandingStill: the time of a process that was stopped does not pass.
func TestStandingStill(t *testing.T) {
	now := time.Unix(0, 0)
	c := newClock(func() time.Time { return now })
	pass := func(d time.Duration) time.Duration {
		now = now.Add(d)
		return c.now()
	}
	require.Equal(t, time.Second, pass(time.Second))
	require.Equal(t, time.Second+beatEvery, pass(10*time.Second))
	require.Equal(t, 2*time.Second+beatEvery, pass(time.Second))
	require.Equal(t, 2*time.Second+2*beatEvery, pass(24*time.Hour))
}

// TestClockWaits for its own time, and ends with what it waits for.
func TestClockWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now)
		stop := c.beat()
		defer stop()
		began := time.Now()
		c.wait(t.Context(), time.Hour, nil)
		require.Equal(t, time.Hour, time.Since(began))
		c.wait(t.Context(), time.Hour, nil)
		require.Equal(t, time.Hour, time.Since(began))

		done := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(done) })
		c.wait(t.Context(), 3*time.Hour, done)
		require.Equal(t, time.Hour+time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c.wait(ctx, 3*time.Hour, nil)
		require.Equal(t, time.Hour+2*time.Second, time.Since(began))
	})
}

// TestClockWaitsOutAStop: a timer that fires after the process stood still
// goes on for what is left.
func TestClockWaitsOutAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now) // without its beat every wait is a standstill
		began := time.Now()
		c.wait(t.Context(), 5*time.Second, nil)
		require.Greater(t, time.Since(began), 5*time.Second)
	})
}

// slowly answers lawfully after a time of its own.
func slowly(w *world, after time.Duration) {
	for _, b := range w.bots {
		b.script = func(c call) bool {
			c.answer(after, w.oracle.lawful(c.ID))
			return true
		}
	}
}

// TestWallClock aborts the match in the middle of a decision.
func TestWallClock(t *testing.T) {
	for _, wall := range []time.Duration{time.Second, 4 * time.Second, 61 * time.Second} {
		t.Run(wall.String(), func(t *testing.T) {
			inWorld(t, 4, func(w *world) {
				w.mode.Wall = wall
				slowly(w, 3*time.Second+time.Millisecond)
				w.play()
				events := w.events()
				aborted := events[len(events)-1].(match.Aborted)
				require.Equal(t, match.WallClock, aborted.Why)
				require.Equal(t, w.seating().Commitment, events[0].(match.Started).Commitment)
				require.Equal(t, testMatch, events[0].(match.Started).MatchID)
				require.Equal(t, wall.Milliseconds(), w.playedMs())
				require.Equal(t, []string{match.WallClock}, w.ladder.voided)
				require.Empty(t, w.ladder.finished)
				require.Empty(t, only[match.DecisionTimedOut](events))
				for _, b := range w.bots {
					require.Equal(t, 1, b.lines[0].closed)
				}
			})
		})
	}
}

// TestWallClockGoesOn over stops of ours: the time between does not count.
func TestWallClockGoesOn(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.mode.Wall = 20 * time.Second
		slowly(w, 2*time.Second)
		for len(w.ladder.voided) == 0 {
			r := w.referee("player")
			r.Play(w.seating())
			<-time.After(5 * time.Second)
			require.NoError(t, r.Stop(context.Background()))
			<-time.After(time.Hour)
		}
		require.Equal(t, int64(20_000), w.playedMs())
	})
}

// TestLogAway for an hour, at each of the first appends: no strike, no time.
func TestLogAway(t *testing.T) {
	want := uninterrupted(t, 3)
	for _, stored := range []bool{false, true} {
		inWorld(t, 3, func(w *world) {
			w.log.fault = away(5, stored)
			began := time.Now()
			w.run()
			require.Greater(t, time.Since(began), 5*time.Hour)
			require.Less(t, w.playedMs(), (5 * time.Minute).Milliseconds())
			requireSame(t, want, w.history())
			require.Equal(t, []int{0, 0, 0}, w.strikes())
		})
	}
}

// away keeps each of the first batches waiting for an hour; whether it is
// stored meanwhile makes no difference.
func away(batches int, stored bool) func(attempted) (eventstore.Appended, error) {
	var since time.Time
	return func(a attempted) (eventstore.Appended, error) {
		if batches == 0 {
			return a.store()
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) < time.Hour {
			return a.lost(stored)
		}
		batches--
		since = time.Time{}
		return a.store()
	}
}
