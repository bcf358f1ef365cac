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

// The function open() is a gate that is always open.
func open() <-chan struct{} { return nil }

func TestClockDoesNotCountPauses(t *testing.T) {
	now := time.Unix(0, 0)
	c := newClock(func() time.Time { return now }, open)
	pass := func(d time.Duration) time.Duration {
		now = now.Add(d)
		return c.now()
	}
	require.Equal(t, time.Second, pass(time.Second))
	require.Equal(t, time.Second+beatEvery, pass(10*time.Second))
	require.Equal(t, 2*time.Second+beatEvery, pass(time.Second))
	require.Equal(t, 2*time.Second+2*beatEvery, pass(24*time.Hour))
}

func TestClockWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now, open)
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

// If the process is paused, the timer in wait fires before the clock reaches the given
// time. In that case, wait continues for the remaining time.
func TestClockWaitContinuesAfterPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now, open) // the test does not start the beat, so every long wait looks like a pause
		began := time.Now()
		c.wait(t.Context(), 5*time.Second, nil)
		require.Greater(t, time.Since(began), 5*time.Second)
	})
}

// The function slowly() makes all bots answer legally after a delay.
func slowly(f *fixture, after time.Duration) {
	for _, b := range f.bots {
		b.script = func(c call) bool {
			c.answer(after, f.legal.answer(c.ID))
			return true
		}
	}
}

func TestWallClockAbortsMatchDuringDecision(t *testing.T) {
	for _, wall := range []time.Duration{time.Second, 4 * time.Second, 61 * time.Second} {
		t.Run(wall.String(), func(t *testing.T) {
			withFixture(t, 4, func(f *fixture) {
				f.mode.Wall = wall
				slowly(f, 3*time.Second+time.Millisecond)
				f.play()
				events := f.events()
				aborted := events[len(events)-1].(match.Aborted)
				require.Equal(t, match.WallClock, aborted.Why)
				require.Equal(t, f.seating().Commitment, events[0].(match.Started).Commitment)
				require.Equal(t, testMatch, events[0].(match.Started).MatchID)
				require.Equal(t, wall.Milliseconds(), f.playedMs())
				require.Equal(t, []string{match.WallClock}, f.ladder.voided)
				require.Empty(t, f.ladder.finished)
				require.Empty(t, only[match.DecisionTimedOut](events))
				for _, b := range f.bots {
					require.Equal(t, 1, b.lines[0].closed)
				}
			})
		})
	}
}

// The time between the stop and the resumption of a match does not count as time
// played.
func TestWallClockContinuesAfterStops(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		f.mode.Wall = 20 * time.Second
		slowly(f, 2*time.Second)
		for len(f.ladder.voided) == 0 {
			r := f.referee("player")
			r.Play(f.seating())
			<-time.After(5 * time.Second)
			require.NoError(t, r.Stop(context.Background()))
			<-time.After(time.Hour)
		}
		require.Equal(t, int64(20_000), f.playedMs())
	})
}

// The log is unavailable for an hour during each of the first appends. These outages do
// not cause strikes, and do not count as time played.
func TestOutageOfLogCostsNoStrike(t *testing.T) {
	want, clocks := uninterrupted(t, 3)
	for _, stored := range []bool{false, true} {
		withFixture(t, 3, func(f *fixture) {
			f.log.fault = outage(5, stored)
			began := time.Now()
			f.run()
			require.Greater(t, time.Since(began), 5*time.Hour)
			require.Less(t, f.playedMs(), (5 * time.Minute).Milliseconds())
			requireSame(t, want, f.history())
			require.Equal(t, clocks, f.clocks())
			require.Equal(t, []int{0, 0, 0}, f.strikes())
		})
	}
}

// outage makes each of the first appends fail for an hour. After that, a retry
// succeeds. If stored is true, the log stores the events even though it returns errors.
func outage(batches int, stored bool) func(attempted) (eventstore.Appended, error) {
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

// A deadline does not pass while the process is paused. Otherwise, the referee could drop a
// line right after the pause, although its bot has time left.
func TestDeadlineDoesNotPassDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now, open) // the test does not start the beat, so every wait over a second looks like a pause
		for until, want := range map[time.Duration]time.Duration{
			500 * time.Millisecond:  500 * time.Millisecond,
			time.Second + beatEvery: 2*time.Second + beatEvery, // the pause counts as one beat
		} {
			began := time.Now()
			ctx, cancel := c.withDeadline(t.Context(), c.now()+until)
			<-ctx.Done()
			require.Equal(t, want, time.Since(began))
			cancel()
		}
		ctx, cancel := c.withDeadline(t.Context(), time.Hour)
		cancel()
		require.Error(t, ctx.Err())
	})
}
