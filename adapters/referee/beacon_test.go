package referee

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

const patienceOfTests = 30 * time.Second

var errNoRound = errors.New("the round did not arrive in time")

// fakeBeacon provides unsigned rounds at their times. While its field down is true, no
// round arrives.
type fakeBeacon struct {
	chain  beacon.Chain
	down   atomic.Bool
	awaits atomic.Int64
}

func (b *fakeBeacon) Chain() beacon.Chain { return b.chain }

func (b *fakeBeacon) Await(ctx context.Context, round uint64) (beacon.Round, error) {
	b.awaits.Add(1)
	wait, err := max(0, time.Until(b.chain.Time(round))), error(nil)
	if b.down.Load() {
		wait, err = wait+patienceOfTests, errNoRound
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return beacon.Round{}, err
	}
	return b.round(round), nil
}

func (b *fakeBeacon) round(number uint64) beacon.Round {
	return beacon.NewRound(beacon.Named{Chain: b.chain.Hash, Round: number}, make([]byte, beacon.SignatureSize))
}

// withBeacon runs a test with a table that names a round. The round appears after 9 s.
func withBeacon(t *testing.T, test func(f *fixture, b *fakeBeacon)) {
	t.Helper()
	withFixture(t, 3, func(f *fixture) {
		b := &fakeBeacon{chain: beacon.Quicknet()}
		b.chain.Genesis = time.Now()
		f.beacon, f.named = b, &beacon.Named{Chain: b.chain.Hash, Round: 4}
		test(f, b)
	})
}

// closedLines returns the number of lines that the referee has closed.
func (f *fixture) closedLines() (n int) {
	for _, b := range f.bots {
		for _, l := range b.lines {
			n += l.closed
		}
	}
	return n
}

// The referee dials the bots first and then waits for the round. The wait does
// not count as time played.
func TestMatchStartsWithTheNamedRound(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		f.bots[1].nonce = "mine"
		f.stopAfter(match.BoardLaid{})
		began := time.Now()
		r := f.referee("player")
		r.Play(f.seating())
		<-time.After(8 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, f.bots[0].dials)
		require.Empty(t, f.events())
		r.Wait()

		started := f.events()[0].(match.Started)
		round := b.round(4)
		require.Equal(t, &round, started.Beacon)
		require.Equal(t, []string{"", "mine", ""}, started.Nonces, "nonces are recorded")
		require.Equal(t, began.Add(9*time.Second).UTC(), f.times()[0].UTC())
		require.Zero(t, f.playedMs())
		_, randomness, err := round.Decode()
		require.NoError(t, err)
		order := seed.WithBeacon(seed.Server(testKey, testMatch), randomness).Seating(3)
		for i, at := range order {
			require.Equal(t, f.bots[at].id, started.Seats[i].BotID)
		}
	})
}

func TestMatchWithBeaconIsPlayedToItsEnd(t *testing.T) {
	withBeacon(t, func(f *fixture, _ *fakeBeacon) {
		f.run()
		require.Equal(t, []int{0, 0, 0}, f.strikes())
	})
}

// A table that does not name a round is played without the beacon. Such a table was
// seated before the arena had a beacon.
func TestTableWithoutRoundNeedsNoBeacon(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		f.named = nil
		require.Nil(t, f.run()[0].(match.Started).Beacon)
		require.Zero(t, b.awaits.Load())
	})
}

// If the round does not arrive, the ladder voids the match, and the match's stream
// stays empty. The referee closes the sockets.
func TestLateRoundVoidsTheMatch(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		b.down.Store(true)
		began := time.Now()
		f.play()
		require.Equal(t, []string{"beacon"}, f.ladder.voided)
		require.Empty(t, f.ladder.finished)
		require.Empty(t, f.events())
		require.Equal(t, began.Add(9*time.Second+patienceOfTests), time.Now())
		require.Equal(t, 3, f.closedLines())
	})
}

// awaitMissingRound starts a match whose round does not arrive. It returns the referee
// after 20 s, when the match is still waiting for the round.
func (f *fixture) awaitMissingRound(b *fakeBeacon, player string) *Referee {
	b.down.Store(true)
	r := f.referee(player)
	r.Play(f.seating())
	<-time.After(20 * time.Second)
	synctest.Wait()
	return r
}

// If the referee stops during the wait, the match stays unfinished. The next process
// dials again and starts the match with the same round.
func TestStopDuringTheWaitForTheRound(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		r := f.awaitMissingRound(b, "first")
		began := time.Now()
		require.NoError(t, r.Stop(f.t.Context()))
		require.Less(t, time.Since(began), time.Second)
		require.Empty(t, f.ladder.voided)
		require.Empty(t, f.events())
		require.Equal(t, 3, f.closedLines())

		b.down.Store(false)
		f.run()
		round := b.round(4)
		require.Equal(t, &round, f.events()[0].(match.Started).Beacon)
		require.Equal(t, 2, f.bots[0].dials)
	})
}

// A match that has started has stored its round, so it resumes without the beacon.
func TestStartedMatchResumesWithoutTheBeacon(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		f.stopAfter(match.DiceRolled{})
		f.play()
		f.log.fault = nil
		f.beacon = nil
		f.run()
		require.EqualValues(t, 1, b.awaits.Load())
	})
}

// An operator's order ends the wait immediately. The bots do not get a request.
func TestAbortDuringTheWaitForTheRound(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		r := f.awaitMissingRound(b, "player")
		ordered := time.Now()
		require.NoError(t, r.Abort(f.t.Context(), f.seating(), order))
		require.Less(t, time.Since(ordered), time.Second)
		require.Equal(t, []string{match.Operator}, f.ladder.voided)
		require.Empty(t, f.events())
		require.Equal(t, 3, f.closedLines())
	})
}

// If an order comes after the ladder has voided the match for its beacon, but before the
// task has ended, Abort returns ErrOver.
func TestAbortAfterTheBeaconVoidedTheMatch(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		wait := make(chan struct{})
		release := sync.OnceFunc(func() { close(wait) })
		defer release() // so the task also ends if the test fails
		f.bots[0].greet = func(l *fakeLine) { l.closing = func() { <-wait } }
		r := f.awaitMissingRound(b, "player")
		<-time.After(time.Hour)
		ended, _ := f.ladder.Finished(t.Context(), testMatch)
		require.True(t, ended)
		require.True(t, r.Playing(testMatch), "a line is not closed yet")
		aborted := make(chan error)
		go func() { aborted <- r.Abort(f.t.Context(), f.seating(), order) }()
		synctest.Wait()
		release()
		require.ErrorIs(t, <-aborted, ErrOver)
		require.Equal(t, []string{ladder.WhyBeacon}, f.ladder.voided)
	})
}

// Without the right chain, the match stays unfinished and the referee does not dial any
// bots. The match starts after a restart with the right chain, or an operator's order
// ends it.
func TestMatchNeedsTheChainOfItsTable(t *testing.T) {
	other := &fakeBeacon{chain: beacon.Quicknet()}
	other.chain.Hash = "00" + other.chain.Hash[2:]
	for name, wrong := range map[string]Beacon{"no beacon": nil, "another chain": other} {
		for _, aborted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				withBeacon(t, func(f *fixture, b *fakeBeacon) {
					f.beacon = wrong
					r := f.referee("player")
					r.Play(f.seating())
					<-time.After(time.Hour)
					synctest.Wait()
					require.Equal(t, 1, r.Running())
					require.Zero(t, f.bots[0].dials)
					require.Empty(t, f.ladder.voided)
					if aborted {
						require.NoError(t, r.Abort(f.t.Context(), f.seating(), order))
						require.Equal(t, []string{match.Operator}, f.ladder.voided)
						return
					}
					require.NoError(t, r.Stop(f.t.Context()))
					f.beacon = b
					f.run()
				})
			})
		}
	}
}

// If another process has started the match by the time a process gives up waiting for
// the round, the match is not voided.
func TestLateRoundDoesNotVoidAStartedMatch(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		b.down.Store(true)
		first := f.referee("first")
		first.Play(f.seating())
		synctest.Wait()
		f.beacon = &fakeBeacon{chain: b.chain}
		f.stopAfter(match.DiceRolled{})
		f.play()
		first.Wait()
		require.Empty(t, f.ladder.voided)
		require.NotEmpty(t, f.events())
	})
}

// Another process carries out an operator's order while this process starts the match.
// In each order of their appends, the match is aborted. If it was voided first, its bots
// are not asked. The match is aborted even if this process is told to stop playing it.
func TestAbortElsewhereWhileTheMatchStarts(t *testing.T) {
	for name, c := range map[string]struct{ startsFirst, stops bool }{
		"the start is stored before the void":                             {true, false},
		"the void is stored before the start":                             {false, false},
		"the void is stored before the start, and then the process stops": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			withBeacon(t, func(f *fixture, _ *fakeBeacon) {
				for _, b := range f.bots {
					b.script = func(call) bool { return true } // never answers
				}
				aborted := make(chan error, 1)
				abort := func() { aborted <- f.referee("other").Abort(f.t.Context(), f.seating(), order) }
				player := f.referee("player")
				holds, started := make(chan struct{}), make(chan struct{})
				f.log.fault = func(a attempted) (eventstore.Appended, error) {
					if !a.has(match.Started{}) {
						return a.store()
					}
					defer close(started)
					go abort()
					<-holds
					stored, err := a.store()
					if c.stops {
						player.StopMatch(testMatch)
					}
					return stored, err
				}
				if c.startsFirst {
					f.ladder.before = func() { close(holds); <-started }
				}
				player.Play(f.seating())
				if !c.startsFirst {
					require.NoError(t, <-aborted, "the other process has voided the match")
					require.Equal(t, []string{match.Operator}, f.ladder.voided)
					close(holds)
				} else {
					require.NoError(t, <-aborted)
				}
				player.Wait()

				events := f.events()
				require.Len(t, only[match.Aborted](events), 1)
				require.Equal(t, match.Operator, events[len(events)-1].(match.Aborted).Why)
				require.Equal(t, []string{match.Operator}, f.ladder.voided)
				for _, b := range f.bots {
					require.True(t, c.startsFirst || len(b.requests) == 0)
				}
			})
		})
	}
}

// A process whose gate is closed may have lost the match to another process, so it does
// not void the match.
func TestClosedGateDelaysTheVoid(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		b.down.Store(true)
		g := gated(f, nil)
		r := f.awaitMissingRound(b, "player")
		g.closeFor(time.Hour)
		<-time.After(59 * time.Minute)
		synctest.Wait()
		voided, err := f.ladder.Finished(f.t.Context(), testMatch)
		require.NoError(t, err)
		require.False(t, voided)
		r.Wait()
		require.Equal(t, []string{"beacon"}, f.ladder.voided)
	})
}

// If the log is unavailable when the match should be voided, the ladder voids it later.
func TestVoidWaitsForTheLog(t *testing.T) {
	withBeacon(t, func(f *fixture, b *fakeBeacon) {
		b.down.Store(true)
		f.ladder.fails = []error{eventstore.ErrUnavailable}
		r := f.referee("player")
		r.Play(f.seating())
		r.Wait()
		require.Empty(t, f.ladder.voided)
		r.Play(f.seating()) // the next tick
		r.Wait()
		require.Equal(t, []string{"beacon"}, f.ladder.voided)
	})
}
