package referee

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/match"
	"hexarena/eventstore"
)

// fakeGate is a gate that a test opens and closes.
type fakeGate struct {
	mu     sync.Mutex
	opened chan struct{} // nil while the gate is open
}

func (g *fakeGate) state() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

// The method close() closes the gate. It returns false if the gate was already closed.
func (g *fakeGate) close() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		return false
	}
	g.opened = make(chan struct{})
	return true
}

func (g *fakeGate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.opened)
	g.opened = nil
}

// closeFor closes the gate for some time, after the requests of the current batch have
// been sent.
func (g *fakeGate) closeFor(d time.Duration) {
	time.AfterFunc(think/3, func() {
		if g.close() {
			time.AfterFunc(d, g.open)
		}
	})
}

// gated gives the fixture a gate. Bots fail the test if they are dialed or asked while
// the gate is closed. The function then() is called for each request.
func gated(f *fixture, then func(g *fakeGate, c call) bool) *fakeGate {
	g := &fakeGate{}
	f.gate = g.state
	for _, b := range f.bots {
		b.refuse = func(context.Context, int) error {
			require.Nil(f.t, g.state(), "dialed while the gate is closed")
			return nil
		}
		b.script = func(c call) bool { return then(g, c) }
	}
	return g
}

// The gate is closed for an hour again and again. This changes neither the match nor its
// clocks.
func TestClosedGateCostsNothing(t *testing.T) {
	want, clocks := uninterrupted(t, 3)
	withFixture(t, 3, func(f *fixture) {
		closed := 0
		gated(f, func(g *fakeGate, c call) bool {
			if c.ID%50 == 0 {
				closed++
				g.closeFor(time.Hour) // while the bot thinks
			}
			return false
		})
		f.run()
		require.Positive(t, closed)
		requireSame(t, want, f.history())
		require.Equal(t, []int{0, 0, 0}, f.strikes())
		for seat, used := range f.clocks() {
			require.InDelta(t, clocks[seat], used, float64(closed)*float64(beatEvery.Milliseconds()))
		}
	})
}

// A bot does not answer while the gate is closed, and then answers in time by the
// referee's clock.
func TestClosedGateStopsTheClockOfADecision(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		gated(f, func(g *fakeGate, c call) bool {
			if c.nth != 3 {
				return false
			}
			g.closeFor(time.Hour)
			c.answer(time.Hour+4*time.Second, f.legal.answer(c.ID))
			return true
		})
		f.run()
		require.Equal(t, []int{0, 0, 0}, f.strikes())
		require.Less(t, f.playedMs(), (10 * time.Minute).Milliseconds())
	})
}

// The line breaks while the gate is closed. The referee dials again only after the gate
// has opened, and the decision that waits for the line has its full time.
func TestClosedGateDelaysTheRedial(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		broken := false
		gated(f, func(g *fakeGate, c call) bool {
			if c.nth == 3 && !broken {
				broken = true
				g.closeFor(time.Hour)
				c.answer(think, f.legal.answer(c.ID))
				c.line.sends(2*think, "", match.CauseDropped)
				return true
			}
			return false
		})
		f.run()
		require.True(t, broken)
		require.Equal(t, []int{0, 0, 0}, f.strikes())
	})
}

// The gate closes while the referee sends a request, and again while it dials. The time
// limits of both stand still, so both succeed.
func TestClosedGateStopsTheTimeLimitsOfLines(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		bot := f.bots[0]
		g := gated(f, func(_ *fakeGate, c call) bool {
			if c.line.bot == bot && c.nth == 1 {
				c.answer(think, f.legal.answer(c.ID))
				c.line.sends(think+time.Millisecond, "", match.CauseDropped) // so that the referee dials again
				return true
			}
			return false
		})
		closed := 0
		longWait := func(ctx context.Context) error {
			closed++
			require.True(t, g.close())
			time.AfterFunc(time.Hour, g.open)
			select {
			case <-time.After(time.Hour + time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		bot.refuse = func(ctx context.Context, nth int) error {
			if nth == 1 {
				return nil
			}
			return longWait(ctx)
		}
		sent := 0
		bot.greet = func(l *fakeLine) {
			l.sending = func(ctx context.Context) error {
				if sent++; sent > 1 {
					return nil
				}
				return longWait(ctx)
			}
		}
		f.run()
		require.Equal(t, 2, closed)
		require.Equal(t, 2, bot.dials)
		require.Equal(t, []int{0, 0, 0}, f.strikes())
	})
}

// While the gate is closed, the match goes to another referee. The first one sends
// nothing anymore.
func TestStoppedMatchSendsNothingAfterTheGateOpens(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		var asked atomic.Int32
		g := gated(f, func(g *fakeGate, c call) bool {
			if asked.Add(1) == 10 { // when bots are asked one after another
				time.AfterFunc(think/3, func() { g.close() })
			}
			return false
		})
		r := f.referee("player")
		r.Play(f.seating())
		<-time.After(time.Minute)
		before := asked.Load()
		require.Equal(t, []string{testMatch}, r.Matches())
		r.StopMatch("another match")
		r.StopMatch(testMatch)
		g.open()
		r.Wait()
		require.Equal(t, before, asked.Load())
		require.Empty(t, r.Matches())
		require.Empty(t, f.ladder.finished)
		for _, b := range f.bots {
			require.Equal(t, 1, b.lines[0].closed)
		}

		f.play() // the referee may play the match again later
		require.Len(t, f.ladder.finished, 1)
		require.Equal(t, []int{0, 0, 0}, f.strikes())
	})
}

// An operator's order stays in effect if the match goes to another referee.
func TestStopMatchDoesNotStopAnAbort(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		slowly(f, 4*time.Second)
		var r *Referee
		f.log.fault = func(a attempted) (eventstore.Appended, error) {
			if a.has(match.Aborted{}) {
				r.StopMatch(testMatch)
			}
			return a.store()
		}
		r = f.referee("player")
		r.Play(f.seating())
		<-time.After(10 * time.Second)
		require.NoError(t, r.Abort(f.t.Context(), f.seating(), order))
		requireAborted(t, f)
	})
}

// A referee counts the appends that another referee's claim rejects.
func TestFencedAppendsAreCounted(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		slowly(f, time.Second)
		old := f.referee("old")
		old.Play(f.seating())
		<-time.After(10*time.Second + time.Millisecond)
		next := f.referee("next")
		next.Play(f.seating())
		old.Wait()
		require.EqualValues(t, 1, old.Fenced())
		next.Wait()
		require.Zero(t, next.Fenced())
		require.Len(t, f.ladder.finished, 1)
	})
}

// A match is not claimed while the gate is closed, unless an operator aborts it.
func TestClosedGateDelaysTheClaim(t *testing.T) {
	for name, aborted := range map[string]bool{"resumed": false, "aborted": true} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				slowly(f, time.Second)
				first := f.referee("first")
				first.Play(f.seating())
				<-time.After(10 * time.Second)
				require.NoError(t, first.Stop(f.t.Context()))
				g := &fakeGate{}
				g.close()
				f.gate = g.state
				next := f.referee("next")
				next.Play(f.seating())
				<-time.After(time.Hour)
				require.Empty(t, only[match.Claimed](f.events()))
				if aborted {
					require.NoError(t, next.Abort(f.t.Context(), f.seating(), order))
					requireAborted(t, f)
					return
				}
				g.open()
				next.Wait()
				require.Len(t, only[match.Claimed](f.events()), 1)
				require.Equal(t, []int{0, 0, 0}, f.strikes())
			})
		})
	}
}

// A match that is being stopped is played again if it comes back before it has stopped, unless
// it is then stopped again.
func TestMatchThatComesBackWhileItStops(t *testing.T) {
	for name, played := range map[string]bool{"comes back": true, "is stopped again": false} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				r := f.referee("player")
				f.log.fault = func(a attempted) (eventstore.Appended, error) {
					if a.nth == 3 { // the task cannot end while an append is in progress
						r.StopMatch(testMatch)
						r.Play(f.seating())
						if !played {
							r.StopMatch(testMatch)
						}
					}
					return a.store()
				}
				r.Play(f.seating())
				r.Wait()
				if !played {
					require.Empty(t, f.ladder.finished)
					return
				}
				require.Len(t, f.ladder.finished, 1)
				require.Len(t, only[match.Claimed](f.events()), 1)
			})
		})
	}
}

// An operator's order takes the match from a process that stores events at the same time.
func TestOrderTakesAMatchFromABusyProcess(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		slowly(f, time.Second)
		claims := 0 // of the other process; the first process has no reason to claim
		f.log.fault = func(a attempted) (eventstore.Appended, error) {
			if a.has(match.Claimed{}) {
				if claims++; claims <= 3 {
					<-time.After(5 * time.Second) // meanwhile, the first process stores events
				}
			}
			return a.store()
		}
		player := f.referee("player")
		player.Play(f.seating())
		<-time.After(10 * time.Second)
		require.NoError(t, f.referee("other").Abort(f.t.Context(), f.seating(), order))
		require.Greater(t, claims, 3)
		player.Wait()
		requireAborted(t, f)
	})
}
