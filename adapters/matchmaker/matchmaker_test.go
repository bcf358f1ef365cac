package matchmaker

import (
	"bytes"
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
)

// arena is a matchmaker among fakes, inside a bubble.
type arena struct {
	*Matchmaker
	log   *faultyLog
	lines lines
	stop  func()

	mu      sync.Mutex
	calls   []string // of the directory and the referee, in order
	bots    []ladder.Candidate
	catchUp func(context.Context) error
	listing error
	keys    SeedKeys
	play    func(ladder.Seating)
}

// set changes what the fakes do; they read it under the same lock.
func (a *arena) set(change func(*arena)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a)
}

// lines holds what was logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (a *arena) called(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, fmt.Sprintf(format, args...))
}

// take returns the calls since the last take.
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

func (a *arena) Play(s ladder.Seating) {
	a.called("play %d.%d", s.Revision, s.Index)
	if a.play != nil {
		a.play(s)
	}
}

// given makes an arena with bots and a tick of 30 s, not yet run.
func given(bots int, modes ...string) *arena {
	a := &arena{log: newFaultyLog(), bots: numbered(bots), keys: seedKeys{}}
	var ladders []*Ladder
	for _, mode := range modes {
		l := newLadder(a.log, mode)
		l.config.SeedKeys = a
		ladders = append(ladders, l)
	}
	a.Matchmaker = New(Config{
		Ladders: ladders, Directory: a, Referee: a, Tick: 30 * time.Second,
		Logger: slog.New(slog.NewTextHandler(&a.lines, nil)),
	})
	return a
}

// run ticks until stop is called, which waits for the end; it returns when the
// first tick is over or waits for something.
func (a *arena) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	a.stop = func() { cancel(); <-done }
	synctest.Wait()
}

// later lets time pass.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestTheFirstTickIsAtOnceAndTheNextOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		a.run(t)
		defer func() { a.stop() }()
		require.Equal(t, []string{"catch up", "candidates of standard", "play 0.0"}, a.take())
		later(30*time.Second - time.Nanosecond)
		require.Empty(t, a.take())
		later(time.Nanosecond)
		require.Equal(t, []string{"play 0.0", "catch up", "candidates of standard"}, a.take(), "the same match, once more")
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
	})
}

func TestBotsPlayRestAndPlayAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(4, ladder.Standard)
		l := a.config.Ladders[0]
		a.play = func(s ladder.Seating) {
			require.NoError(t, l.Finish(t.Context(), s.MatchID, inOrder(s)))
		}
		a.run(t)
		defer func() { a.stop() }()
		later(restOfTests - time.Nanosecond)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 2)
		later(time.Nanosecond)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 4, "seated once rested")
	})
}

// A match that was on when the arena stopped goes on before the directory has
// caught up, and whether it does or not.
func TestUnfinishedMatchesGoOnAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(9, ladder.Standard)
		_, err := newLadder(a.log, ladder.Standard).Seat(t.Context(), numbered(4), time.Now())
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
		require.Contains(t, a.lines.String(), "the directory is behind the log")
		later(15 * time.Second)
		require.Equal(t, []string{"play 0.0", "catch up"}, a.take())
		close(caughtUp)
		synctest.Wait()
		require.Equal(t, []string{"candidates of standard", "play 0.0", "play 1.0"}, a.take())
	})
}

func TestWhatFailsIsLoggedAndTriedAgain(t *testing.T) {
	down := errors.New("it is down")
	for name, c := range map[string]struct {
		spoil, mend func(*arena)
		line        string
	}{
		"the directory lags": {
			func(a *arena) { a.catchUp = func(context.Context) error { return down } },
			func(a *arena) { a.catchUp = nil }, "the directory is behind the log",
		},
		"the directory fails": {
			func(a *arena) { a.listing = down },
			func(a *arena) { a.listing = nil }, "candidates are unknown",
		},
		"no seed key": {
			func(a *arena) { a.keys = noKeys{} },
			func(a *arena) { a.keys = seedKeys{} }, "tables were not seated",
		},
		"reads hang": {
			func(a *arena) { a.log.fail(nil, []fault{hangs, hangs, hangs}) },
			func(*arena) {}, "unfinished matches are unknown",
		},
		"appends hang": {
			func(a *arena) { a.log.fail([]fault{hangs, hangs, hangs}, nil) },
			func(*arena) {}, "tables were not seated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := given(3, ladder.Standard)
				a.set(c.spoil)
				a.run(t)
				defer func() { a.stop() }()
				later(tickTime)
				require.Contains(t, a.lines.String(), c.line)
				require.Empty(t, storedIn(t, a.log, ladder.Standard))
				a.set(c.mend)
				later(30*time.Second - tickTime)
				require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
				require.Contains(t, a.take(), "play 0.0")
			})
		})
	}
}

// An append whose acknowledgement never came was stored all the same: the next
// tick finds its match.
func TestATickInDoubtIsMendedByTheNext(t *testing.T) {
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

func TestModesTickByThemselves(t *testing.T) {
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

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		a.run(t)
		defer func() { a.stop() }()
		a.take()
		a.Drain()
		a.set(func(a *arena) { a.bots = numbered(8) })
		later(30 * time.Second)
		require.Equal(t, []string{"play 0.0"}, a.take(), "what is on goes on")
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
	})
}

func TestDrainWaitsForATickThatSeats(t *testing.T) {
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

func TestAStopIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard, ladder.Parley)
		a.catchUp = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		a.run(t)
		a.stop()
		require.Empty(t, a.lines.String())
		require.Empty(t, storedIn(t, a.log, ladder.Standard))
	})
}

// Two arenas tick over one log at the same instants: each bot sits once.
func TestTwoMatchmakersOnOneLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := given(11, ladder.Standard), given(11, ladder.Standard)
		two.config.Ladders = []*Ladder{newLadder(one.log, ladder.Standard)}
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
