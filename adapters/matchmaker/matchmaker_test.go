package matchmaker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
)

// arena is a Matchmaker that uses fakes, in a synctest bubble.
type arena struct {
	*Matchmaker
	log   *faultyLog
	lines logtest.Lines
	stop  func()

	mu      sync.Mutex
	calls   []string // calls to the directory, and the matches that were assigned, in order
	bots    []ladder.Candidate
	catchUp func(context.Context) error
	listing error
	keys    SeedKeys
	free    int // how many matches the processes can take
	play    func(ladder.Seating)
}

// set changes the behavior of the fakes, under their lock.
func (a *arena) set(change func(*arena)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a)
}

func (a *arena) called(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, fmt.Sprintf(format, args...))
}

// take returns the calls that were made since the last call of take.
func (a *arena) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls = nil
	return calls
}

func (a *arena) CatchUp(ctx context.Context) error {
	a.called("catch up")
	a.mu.Lock()
	catchUp := a.catchUp
	a.mu.Unlock()
	if catchUp == nil {
		return nil
	}
	return catchUp(ctx)
}

func (a *arena) Candidates(_ context.Context, mode string) ([]ladder.Candidate, error) {
	a.called("candidates of %s", mode)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bots, a.listing
}

func (a *arena) CurrentSeedKey() (string, []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys.CurrentSeedKey()
}

// Assign makes this process play all unfinished matches.
func (a *arena) Assign(ctx context.Context) error {
	for _, l := range a.options.Ladders {
		all, err := l.Unfinished(ctx)
		if err != nil {
			return err
		}
		for _, s := range all {
			a.called("play %d.%d", s.Revision, s.Index)
			if a.play != nil {
				a.play(s)
			}
		}
	}
	return nil
}

func (a *arena) Free() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.free
}

// The function given() returns an arena with the given number of bots and a tick every
// 30 s. The ticks have not started yet.
func given(bots int, modes ...string) *arena {
	a := &arena{log: newFaultyLog(), bots: numbered(bots), keys: seedKeys{}, free: 100}
	var ladders []*Ladder
	for _, mode := range modes {
		l := newLadder(a.log, mode)
		l.options.SeedKeys = a
		ladders = append(ladders, l)
	}
	a.Matchmaker = New(Options{
		Ladders: ladders, Directory: a, Assigner: a, Tick: 30 * time.Second,
		Logger: slog.New(slog.NewTextHandler(&a.lines, nil)),
	})
	return a
}

// run starts the ticks, and returns when the first tick has ended or is blocked. Call
// a.stop to stop the ticks and wait until they have ended.
func (a *arena) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	a.stop = func() { cancel(); <-done }
	synctest.Wait()
}

// The function later() advances the clock of the synctest bubble, and waits until all
// goroutines are blocked.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestTimeOfTheNextTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(2, ladder.Standard)
		require.Zero(t, a.NextTick(time.Now()), "before Run")
		began := time.Now()
		a.run(t)
		defer func() { a.stop() }()
		require.Equal(t, began.Add(30*time.Second), a.NextTick(time.Now()))
		later(70 * time.Second)
		a.take()
		next := a.NextTick(time.Now())
		require.Equal(t, began.Add(90*time.Second), next)
		later(time.Until(next))
		require.Contains(t, a.take(), "candidates of standard", "a tick at that time")
	})
}

// Bots that are playing or resting do not count as waiting. A Ladder in a process that
// only follows the log gives the same count once it has caught up.
func TestLadderCountsWaitingBots(t *testing.T) {
	log := newFaultyLog()
	l, elsewhere := newLadder(log, ladder.Standard), newLadder(log, ladder.Standard)
	waiting := func(want int, now time.Time) {
		t.Helper()
		require.NoError(t, elsewhere.CatchUp(t.Context()))
		for _, l := range []*Ladder{l, elsewhere} {
			require.Equal(t, want, l.Waiting(candidates("a", "b", "c", "d"), now))
		}
	}
	waiting(4, time.Now())
	s := seatOne(t, l)
	waiting(1, time.Now())
	require.NoError(t, l.Finish(t.Context(), s.MatchID, inOrder(s)))
	waiting(1, time.Now())
	waiting(4, time.Now().Add(2*restOfTests))
}

func TestFirstTickIsImmediate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		a.run(t)
		defer func() { a.stop() }()
		require.Equal(t, []string{"catch up", "candidates of standard", "catch up", "play 0.0"}, a.take())
		later(30*time.Second - time.Nanosecond)
		require.Empty(t, a.take())
		later(time.Nanosecond)
		require.Equal(t, []string{"play 0.0", "catch up", "candidates of standard"}, a.take(), "the match is assigned again")
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
	})
}

// A tick that waited until another mode seated its tables waits for Gap before it seats its
// own. The directory needs 100 ms, so the second tick waits from 120 to 210 ms.
func TestATickLeavesAGapAfterItsWait(t *testing.T) {
	slow := func(t *testing.T) *arena {
		a := given(3, ladder.Standard, ladder.Parley)
		a.options.Gap = 10 * time.Millisecond
		a.catchUp = func(ctx context.Context) error { return eventstore.Sleep(ctx, 100*time.Millisecond) }
		a.run(t)
		later(220*time.Millisecond - time.Nanosecond)
		require.Equal(t, []string{"catch up", "catch up", "candidates of standard", "catch up", "candidates of parley", "play 0.0"}, a.take())
		return a
	}
	synctest.Test(t, func(t *testing.T) {
		a := slow(t)
		defer func() { a.stop() }()
		later(time.Nanosecond)
		require.Equal(t, []string{"catch up"}, a.take())
		later(100 * time.Millisecond)
		require.Len(t, storedIn(t, a.log, ladder.Parley), 1)
	})
	synctest.Test(t, func(t *testing.T) {
		a := slow(t)
		a.stop()
		require.Empty(t, storedIn(t, a.log, ladder.Parley))
		require.True(t, a.placing.TryAcquire(1))
	})
}

func TestBotsAreSeatedAgainAfterTheirRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(4, ladder.Standard)
		l := a.options.Ladders[0]
		a.play = func(s ladder.Seating) {
			require.NoError(t, l.Finish(t.Context(), s.MatchID, inOrder(s)))
		}
		a.run(t)
		defer func() { a.stop() }()
		later(restOfTests - time.Nanosecond)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 2)
		later(time.Nanosecond)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 4, "seated again after the rest")
	})
}

// An unfinished match resumes before the directory has caught up, so it resumes even if
// the directory never catches up.
func TestUnfinishedMatchesResumeAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(9, ladder.Standard)
		_, err := newLadder(a.log, ladder.Standard).Seat(t.Context(), numbered(4), time.Now(), 0, unchecked)
		require.NoError(t, err)
		caughtUp := make(chan struct{})
		a.catchUp = func(ctx context.Context) error {
			select {
			case <-caughtUp:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		a.run(t)
		defer func() { a.stop() }()
		require.Equal(t, []string{"play 0.0", "catch up"}, a.take())
		later(tickTime)
		require.Contains(t, a.lines.String(), "a read model is behind the log")
		later(15 * time.Second)
		require.Equal(t, []string{"play 0.0", "catch up"}, a.take())
		close(caughtUp)
		synctest.Wait()
		require.Equal(t, []string{"candidates of standard", "catch up", "play 0.0", "play 1.0"}, a.take())
	})
}

func TestFailureIsLoggedAndRetried(t *testing.T) {
	down := errors.New("the directory is down")
	for name, c := range map[string]struct {
		fail, fix func(*arena)
		line      string
	}{
		"the directory lags": {
			func(a *arena) { a.catchUp = func(context.Context) error { return down } },
			func(a *arena) { a.catchUp = nil }, "a read model is behind the log",
		},
		"the directory fails": {
			func(a *arena) { a.listing = down },
			func(a *arena) { a.listing = nil }, "could not read the candidates",
		},
		"no seed key": {
			func(a *arena) { a.keys = noKeys{} },
			func(a *arena) { a.keys = seedKeys{} }, "tables not seated",
		},
		"reads hang": {
			func(a *arena) { a.log.fail(nil, []fault{hangs, hangs, hangs}) },
			func(*arena) {}, "could not assign the unfinished matches",
		},
		"appends hang": {
			func(a *arena) { a.log.fail([]fault{hangs, hangs, hangs}, nil) },
			func(*arena) {}, "tables not seated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := given(3, ladder.Standard)
				a.set(c.fail)
				a.run(t)
				defer func() { a.stop() }()
				later(tickTime)
				require.Contains(t, a.lines.String(), c.line)
				require.Empty(t, storedIn(t, a.log, ladder.Standard))
				a.set(c.fix)
				later(30*time.Second - tickTime)
				require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
				require.Contains(t, a.take(), "play 0.0")
			})
		})
	}
}

// The acknowledgement of a stored append never arrives. The next tick finds the
// match in the log.
func TestNextTickFindsMatchOfUnacknowledgedAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		a.log.fail([]fault{storedThenHangs, hangs, hangs, hangs}, nil)
		a.run(t)
		defer func() { a.stop() }()
		later(tickTime)
		require.NotContains(t, a.take(), "play 0.0")
		later(30*time.Second - tickTime)
		require.Contains(t, a.take(), "play 0.0")
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
	})
}

func TestModesTickIndependently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard, ladder.Parley)
		first := true
		a.catchUp = func(ctx context.Context) error {
			a.mu.Lock()
			hang := first
			first = false
			a.mu.Unlock()
			if hang {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		a.run(t)
		defer func() { a.stop() }()
		require.Equal(t, 1, len(storedIn(t, a.log, ladder.Standard))+len(storedIn(t, a.log, ladder.Parley)))
		later(30 * time.Second)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
		require.Len(t, storedIn(t, a.log, ladder.Parley), 1)
	})
}

func TestDrainedMatchmakerStillHandsOverMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		a.run(t)
		defer func() { a.stop() }()
		a.take()
		a.Drain()
		a.set(func(a *arena) { a.bots = numbered(8) })
		later(30 * time.Second)
		require.Equal(t, []string{"play 0.0"}, a.take(), "unfinished matches continue")
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
	})
}

func TestDrainWaitsForSeatingTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		release := make(chan struct{})
		a.catchUp = func(context.Context) error { <-release; return nil }
		a.run(t)
		defer func() { a.stop() }()
		drained := make(chan struct{})
		go func() { a.Drain(); close(drained) }()
		synctest.Wait()
		select {
		case <-drained:
			t.Fatal("drained while a tick seats")
		default:
		}
		close(release)
		<-drained
		synctest.Wait()
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
	})
}

func TestStopIsNotLoggedAsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard, ladder.Parley)
		a.catchUp = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		a.run(t)
		a.stop()
		require.Empty(t, a.lines.String())
		require.Empty(t, storedIn(t, a.log, ladder.Standard))
	})
}

// Two arenas on one log run their ticks at the same times. No bot is seated
// twice.
func TestTwoMatchmakersSeatEachBotOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := given(11, ladder.Standard), given(11, ladder.Standard)
		two.options.Ladders = []*Ladder{newLadder(one.log, ladder.Standard)}
		one.run(t)
		two.run(t)
		defer func() { one.stop(); two.stop() }()
		later(30 * time.Second)
		events := storedIn(t, one.log, ladder.Standard)
		require.Len(t, events, 1)
		require.Len(t, events[0].(ladder.TablesSeated).Tables, 3)
		require.Contains(t, two.take(), "play 0.2")
	})
}

// A tick seats as many tables as the processes can take, over all modes together.
func TestTicksRespectTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(12, ladder.Standard)
		a.set(func(a *arena) { a.free = 2 })
		a.run(t)
		defer func() { a.stop() }()
		events := storedIn(t, a.log, ladder.Standard)
		require.Len(t, events, 1)
		require.Len(t, events[0].(ladder.TablesSeated).Tables, 2)
		a.set(func(a *arena) { a.free = 0 })
		later(30 * time.Second)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
		require.Contains(t, a.lines.String(), "no capacity")
		a.set(func(a *arena) { a.free = 9 })
		later(30 * time.Second)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 2)
	})
}
