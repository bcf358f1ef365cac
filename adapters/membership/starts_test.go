package membership_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
)

// A process that starts on the same data folder again continues its matches at once.
func TestRestartContinuesItsMatches(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a, b := f.start("a", 10), f.start("b", 10)
		a.seats(1)
		f.seat(numbered(6)...)
		a.tick()
		mine := b.Matches()
		require.Len(t, mine, 3)
		later(7 * time.Second)
		b.stop()
		later(5 * time.Second)
		b = f.start("b", 10)
		require.Equal(t, mine, b.Matches())
		later(time.Minute)
		require.Equal(t, 2, f.stored("MatchesAssigned"), "it stores the assignments again before it calls bots")
		require.Zero(t, a.Handovers()+b.Handovers())
	})
}

// A data folder was copied, so two processes have the same id. The one that started later
// stops. It leaves the matches to the other one.
func TestProcessWithTheIDOfAnotherOneStops(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a := f.start("a", 10)
		c := f.start("c", 10)
		later(6 * time.Second) // c has heard a
		c.seats(1)
		f.seat(numbered(4)...)
		c.tick()
		mine := a.Matches()
		require.Len(t, mine, 2)
		later(1500 * time.Millisecond)
		copied := f.start("a", 10)
		copied.generation = 2
		f.until(16*time.Second, "the later one stops", func() bool { return copied.ended.Load() != nil })
		require.ErrorContains(t, *copied.ended.Load(), "copy of the data folder")
		require.False(t, copied.mayCallBots())
		require.ErrorContains(t, copied.divide(f.t.Context()), "copy of the data folder")
		later(time.Minute)
		require.Nil(t, a.ended.Load())
		require.Equal(t, mine, a.Matches())
		require.Len(t, c.List(), 2)
		require.Zero(t, c.Handovers())
		require.Contains(t, a.lines.String(), "copy of this data folder")
	})
}

// The last heartbeat of a process that was killed arrives after the process has started
// again. That is no reason to stop.
func TestLateHeartbeatOfThePreviousStart(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a := f.start("a", 10)
		later(2 * time.Second)
		thaw := a.log.freeze()
		later(4 * time.Second)
		b := f.start("a", 10)
		stopped := make(chan struct{})
		go func() { defer close(stopped); a.stop() }()
		later(4 * time.Second)
		thaw()
		<-stopped
		later(time.Minute)
		require.Nil(t, b.ended.Load())
		require.True(t, b.mayCallBots())
	})
}

// A new process that knows nobody waits before it takes the matches of a process that
// may still be alive.
func TestUnknownMemberIsJudgedLikeOthers(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a := f.start("a", 10)
		a.seats(1)
		f.seat(numbered(2)...)
		a.tick()
		later(time.Hour)
		a.stop()
		b := f.start("b", 10)
		b.seats(2)
		require.Empty(t, b.Matches())
		took := f.until(time.Minute, "the matches continue", func() bool { return len(b.Matches()) == 2 })
		require.InDelta(t, (8 * time.Second).Seconds(), took.Seconds(), 0.01)
	})
}

// headless is a log whose first read of its end fails. So a new process subscribes late.
type headless struct {
	eventstore.Log
	failed atomic.Bool
}

func (l *headless) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	if l.failed.CompareAndSwap(false, true) {
		return func(yield func(eventstore.Recorded, error) bool) {
			yield(eventstore.Recorded{}, eventstore.ErrUnavailable)
		}
	}
	return l.Log.ReadAll(ctx, from, opt)
}

// The process that seats is killed, starts again at once, and assigns matches before it
// follows the others. It does not take the matches of those that are alive.
func TestNewProcessAssignsBeforeItFollows(t *testing.T) {
	for name, matches := range map[string]func(a, b, c *process) []string{
		"all members": func(_, b, c *process) []string { return append(b.Matches(), c.Matches()...) },
		"a member that left": func(a, b, c *process) []string {
			c.stop()
			require.NoError(c.f.t, c.Leave(c.f.t.Context()))
			return b.Matches()
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(f *fixture) {
				a, b, c := f.start("a", 10), f.start("b", 10), f.start("c", 10)
				a.seats(1)
				f.seat(numbered(9)...)
				a.tick()
				later(7 * time.Second)
				a.stop()
				mine, alive := a.Matches(), matches(a, b, c)
				a = f.startOn(&headless{Log: f.log}, "a", 10)
				a.seats(2)
				f.seat("new")
				a.tick()
				require.Subset(t, append(b.Matches(), c.Matches()...), alive)
				require.Subset(t, a.Matches(), mine)
				later(time.Minute)
				require.Subset(t, append(b.Matches(), c.Matches()...), alive)
				require.NotContains(t, a.lines.String(), "a member is gone")
			})
		})
	}
}

// A member is gone, but nobody can play its match. A new subscription does not revive it.
func TestNewSubscriptionRevivesNobody(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a, b := f.start("a", 10), f.start("b", 10)
		a.seats(1)
		f.seat(numbered(4)...)
		a.tick()
		b.setKeys("k1", "k2")
		a.setKeys("k0")
		later(7 * time.Second)
		b.stop()
		f.until(time.Minute, "it is gone", func() bool { return len(a.List()) == 1 })
		a.Forget() // subscribes again, as after a silent subscription
		later(2 * time.Second)
		require.Len(t, a.List(), 2, "after a loss, nothing is known about the others")
		f.until(time.Minute, "it is gone", func() bool { return len(a.List()) == 1 })
		a.log.silent.Store(true)
		f.until(time.Minute, "the subscription is replaced", func() bool { return !a.log.silent.Load() })
		later(time.Second)
		a.tick()
		require.Len(t, a.List(), 1)
		f.start("b", 10)
		require.Len(t, a.List(), 2, "it is here again")
	})
}

// A process that starts again learns of its matches while it opens its gate, so it could
// look for them twice at the same moment. It reads the unfinished matches once.
func TestChangesThatComeTogetherNeedOneRead(t *testing.T) {
	withFixture(t, func(f *fixture) {
		a := f.start("a", 10)
		a.seats(1)
		f.seat(numbered(3)...)
		a.tick()
		a.stop()
		before := f.reads.Load()
		a = f.start("a", 10)
		require.Len(t, a.Matches(), 3)
		require.EqualValues(t, 1, f.reads.Load()-before)
	})
}
