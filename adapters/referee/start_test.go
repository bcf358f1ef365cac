package referee

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

func TestStartStoresSeatingAndNonces(t *testing.T) {
	withFixture(t, 4, func(f *fixture) {
		for i, b := range f.bots {
			b.nonce, b.version = []string{"n0", "", "n2", "~"}[i], []string{"v0", "v1", "", "v 3"}[i]
		}
		f.stopAfter(match.BoardLaid{})
		f.play()
		events := f.events()
		require.Len(t, events, 2)
		started := events[0].(match.Started)
		require.Equal(t, match.Table{Bots: []string{"bot-0", "bot-1", "bot-2", "bot-3"}, Revision: 7, Index: 1, SeedKey: "k1"}, started.Table)
		require.Equal(t, []string{"n0", "", "n2", "~"}, started.Nonces)
		require.Equal(t, match.Deadlines{DecisionMs: 5000, WallMs: 3_600_000}, started.Deadlines)
		order := seed.Joint(seed.Server(testKey, testMatch), started.Nonces).Seating(4)
		for i, at := range order {
			id := f.bots[at].id
			require.Equal(t, match.Seat{BotID: id, BotName: "Bot " + id, OwnerID: "owner", Mu: 25, Sigma: 25.0 / 3, Version: f.bots[at].version}, started.Seats[i])
		}
		require.IsType(t, match.BoardLaid{}, events[1])
		for r := range f.recorded() {
			m, err := eventstore.DecodeMetadata(r)
			require.NoError(t, err)
			require.Equal(t, testMatch, m.Correlation)
			require.Zero(t, *m.PlayedMs)
		}
	})
}

// When a match starts, the referee waits for the bots' upgrade responses. It waits for
// at most 5 s or the decision time, whichever is shorter.
func TestStartWaitsForUpgradeAnswers(t *testing.T) {
	tests := []struct {
		name     string
		decision time.Duration
		refuse   func(ctx context.Context) error
		takes    time.Duration
	}{
		{"standard", 5 * time.Second, hangs, 5 * time.Second},
		{"parley", time.Minute, hangs, 5 * time.Second},
		{"quick", 2 * time.Second, hangs, 2 * time.Second},
		{"refused", 5 * time.Second, func(context.Context) error { return errRefused }, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				f.mode.Decision = test.decision
				bot := f.bots[1]
				bot.nonce = "too-late"
				bot.refuse = func(ctx context.Context, nth int) error {
					if nth == 1 {
						return test.refuse(ctx)
					}
					return nil
				}
				began := time.Now()
				events := f.run()
				require.Equal(t, []string{"", "", ""}, events[0].(match.Started).Nonces)
				require.Equal(t, began.Add(test.takes).UTC(), f.times()[0].UTC())
				require.Equal(t, []int{0, 0, 0}, f.strikes())
				require.Equal(t, 2, bot.dials)
			})
		})
	}
}

// If bots are missing from the directory, a match waits before it starts or resumes.
// During the wait, no decision is open, and the time played does not increase.
func TestMatchWaitsForDirectory(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		f.stopAfter(match.DiceRolled{})
		for range 2 {
			f.bots[0].unknown.Store(true)
			r := f.referee("player")
			r.Play(f.seating())
			time.AfterFunc(40*time.Second, func() { f.bots[0].unknown.Store(false) })
			<-time.After(39 * time.Second)
			require.Equal(t, 1, r.Running())
			stored := len(f.events())
			r.Wait()
			require.Greater(t, len(f.events()), stored)
			f.log.fault = nil
		}
		require.Len(t, f.ladder.finished, 1)
		require.Equal(t, []int{0, 0, 0}, f.strikes())
	})
}

// A match continues while the directory is being rebuilt and lacks the match's bots. The
// event match.Started contains their names, and a bot whose line drops is dialed again.
func TestMatchContinuesWhileTheDirectoryLacksBots(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		bot := f.bots[1]
		f.publish = func(context.Context, ladder.Seating) error {
			bot.unknown.Store(true)
			return nil
		}
		bot.script = func(c call) bool {
			if c.nth == 5 {
				c.line.sends(think+time.Millisecond, "", match.CauseDropped)
			}
			return false
		}
		started := f.run()[0].(match.Started)
		for _, s := range started.Seats {
			require.Equal(t, "Bot "+s.BotID, s.BotName)
		}
		require.Equal(t, []int{0, 0, 0}, f.strikes())
		require.Equal(t, 2, bot.dials)
	})
}

// The referee does not dial any bots before a signed head includes the seating, even if
// another process seated the match and left it unstarted. A match that has started does
// not wait again.
func TestNoBotIsDialedBeforeItsSeatingIsPublished(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		published := make(chan struct{})
		var waiting atomic.Int32
		f.publish = func(ctx context.Context, _ ladder.Seating) error {
			waiting.Add(1)
			select {
			case <-published:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		dials := func() (all int) {
			for _, b := range f.bots {
				all += b.dials
			}
			return all
		}
		f.stopAfter(match.DiceRolled{})
		stopped := f.referee("first")
		stopped.Play(f.seating())
		<-time.After(time.Hour)
		require.Equal(t, 1, stopped.Running())
		require.NoError(t, stopped.Stop(context.Background()))
		require.Zero(t, dials())
		require.Empty(t, f.events())

		second := f.referee("second")
		second.Play(f.seating())
		<-time.After(time.Hour)
		require.EqualValues(t, 2, waiting.Load())
		require.Zero(t, dials())
		require.Empty(t, f.events())
		close(published)
		second.Wait()
		require.Equal(t, 3, dials())
		require.IsType(t, match.Started{}, f.events()[0])

		f.log.fault = nil
		f.run()
		require.EqualValues(t, 2, waiting.Load())
	})
}

// An operator can abort a match while it is waiting for a signed head, for example
// because the read model has stopped.
func TestOrderEndsTheWaitForASignedHead(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		f.publish = func(ctx context.Context, _ ladder.Seating) error { <-ctx.Done(); return ctx.Err() }
		r := f.referee("player")
		r.Play(f.seating())
		<-time.After(time.Minute)
		require.NoError(t, r.Abort(context.Background(), f.seating(), Order{Reason: "the read model stopped"}))
		r.Wait()
		require.Equal(t, []string{ladder.WhyOperator}, f.ladder.voided)
		require.Zero(t, f.bots[0].dials)
		require.Empty(t, f.events())
	})
}

func TestMatchThatCannotStartDialsNoBot(t *testing.T) {
	tests := map[string]func(f *fixture, s *ladder.Seating){
		"an unknown bot":     func(f *fixture, _ *ladder.Seating) { f.bots[2].unknown.Store(true) },
		"an unknown mode":    func(_ *fixture, s *ladder.Seating) { s.Mode = "chess" },
		"no seed key":        func(_ *fixture, s *ladder.Seating) { s.SeedKey = "gone" },
		"another commitment": func(_ *fixture, s *ladder.Seating) { s.Commitment[0]++ },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			withFixture(t, 3, func(f *fixture) {
				s := f.seating()
				change(f, &s)
				r := f.referee("player")
				r.Play(s)
				r.Wait()
				require.Empty(t, f.events())
				require.Zero(t, f.bots[0].dials)
				f.bots[2].unknown.Store(false)
				r.Play(f.seating())
				r.Wait()
				require.Len(t, f.ladder.finished, 1)
			})
		})
	}
}

// The method times() returns the times of the stored events.
func (f *fixture) times() []time.Time {
	var times []time.Time
	for r := range f.recorded() {
		m, err := eventstore.DecodeMetadata(r)
		require.NoError(f.t, err)
		times = append(times, m.At)
	}
	return times
}

// playedMs returns the time played, from the last event's metadata.
func (f *fixture) playedMs() int64 { return *f.lastMetadata().PlayedMs }

// A trial is a match in a stream of its own.
func TestStreamOfATrial(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		r := f.referee("player")
		r.options.Stream, f.legal.stream = match.TrialStream, "trial-"+testMatch
		require.False(t, r.Playing(testMatch))
		r.Play(f.seating())
		require.True(t, r.Playing(testMatch))
		r.Wait()
		require.False(t, r.Playing(testMatch))
		require.Empty(t, f.events(), "the stream of a match")
		var last string
		for e, err := range f.log.Log.Read(t.Context(), "trial-"+testMatch, 0, eventstore.ReadOptions{}) {
			require.NoError(t, err)
			last = e.Type
		}
		require.Equal(t, match.GameEnded{}.EventType(), last)
		require.Len(t, f.ladder.finished, 1)
	})
}

func TestPlayOut(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		require.NoError(f.t, f.referee("player").PlayOut(f.t.Context(), f.seating()))
		require.Len(f.t, f.ladder.finished, 1)
	})
	withFixture(t, 3, func(f *fixture) {
		slowly(f, 4*time.Second)
		ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
		defer cancel()
		r := f.referee("player")
		require.ErrorIs(f.t, r.PlayOut(ctx, f.seating()), errStopped)
		require.Empty(f.t, f.ladder.finished)
		require.Zero(f.t, r.Running())
	})
}

// A match does not start if its seed is not the one that the table commits to.
func TestSeedMustMatchTheCommitment(t *testing.T) {
	withFixture(t, 3, func(f *fixture) {
		r := f.referee("player")
		r.options.ServerSeed = func(context.Context, ladder.Seating) (seed.Seed, error) { return seed.Seed{1}, nil }
		require.ErrorContains(f.t, r.PlayOut(f.t.Context(), f.seating()), "does not match the commitment")
		r.options.ServerSeed = SeedsFromKeys(func(context.Context, string) ([]byte, bool) { return nil, false })
		require.ErrorContains(f.t, r.PlayOut(f.t.Context(), f.seating()), "seed key k1 is missing")
		require.Empty(f.t, f.events())
	})
}
