package referee

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

// TestStart opens the stream with what the seating and the nonces say.
func TestStart(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		for i, b := range w.bots {
			b.nonce = []string{"n0", "", "n2", "~"}[i]
		}
		w.stopAfter(match.BoardLaid{})
		w.play()
		events := w.events()
		require.Len(t, events, 2)
		started := events[0].(match.Started)
		require.Equal(t, match.Table{Bots: []string{"bot-0", "bot-1", "bot-2", "bot-3"}, Revision: 7, Index: 1, SeedKey: "k1"}, started.Table)
		require.Equal(t, []string{"n0", "", "n2", "~"}, started.Nonces)
		require.Equal(t, match.Deadlines{DecisionMs: 5000, WallMs: 3_600_000}, started.Deadlines)
		order := seed.Joint(seed.Server(testKey, testMatch), started.Nonces).Seating(4)
		for i, at := range order {
			id := w.bots[at].id
			require.Equal(t, match.Seat{BotID: id, BotName: "Bot " + id, OwnerID: "owner", Mu: 25, Sigma: 25.0 / 3}, started.Seats[i])
		}
		require.IsType(t, match.BoardLaid{}, events[1])
		for r := range w.recorded() {
			m, err := eventstore.DecodeMetadata(r)
			require.NoError(t, err)
			require.Equal(t, testMatch, m.Correlation)
			require.Zero(t, *m.PlayedMs)
		}
	})
}

// TestStartWaits for the upgrade answers, and no longer than 5 s or the
// decision time.
func TestStartWaits(t *testing.T) {
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
			inWorld(t, 3, func(w *world) {
				w.mode.Decision = test.decision
				bot := w.bots[1]
				bot.nonce = "too-late"
				bot.refuse = func(ctx context.Context, nth int) error {
					if nth == 1 {
						return test.refuse(ctx)
					}
					return nil
				}
				began := time.Now()
				events := w.run()
				require.Equal(t, []string{"", "", ""}, events[0].(match.Started).Nonces)
				require.Equal(t, began.Add(test.takes).UTC(), w.times()[0].UTC())
				require.Equal(t, []int{0, 0, 0}, w.strikes())
				require.Equal(t, 2, bot.dials)
			})
		})
	}
}

// TestDirectoryIsBehind: a match waits for a directory that does not know its
// bots yet, before it starts and before it goes on, and no clock runs.
func TestDirectoryIsBehind(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.stopAfter(match.DiceRolled{})
		for range 2 {
			w.bots[0].unknown.Store(true)
			r := w.referee("player")
			r.Play(w.seating())
			time.AfterFunc(40*time.Second, func() { w.bots[0].unknown.Store(false) })
			<-time.After(39 * time.Second)
			require.Equal(t, 1, r.Running())
			stored := len(w.events())
			r.Wait()
			require.Greater(t, len(w.events()), stored)
			w.log.fault = nil
		}
		require.Len(t, w.ladder.finished, 1)
		require.Equal(t, []int{0, 0, 0}, w.strikes())
	})
}

// TestCannotStart leaves the match alone, dialling nobody.
func TestCannotStart(t *testing.T) {
	tests := map[string]func(w *world, s *ladder.Seating){
		"an unknown bot":     func(w *world, _ *ladder.Seating) { w.bots[2].unknown.Store(true) },
		"an unknown mode":    func(_ *world, s *ladder.Seating) { s.Mode = "chess" },
		"no seed key":        func(_ *world, s *ladder.Seating) { s.SeedKey = "gone" },
		"another commitment": func(_ *world, s *ladder.Seating) { s.Commitment[0]++ },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				s := w.seating()
				spoil(w, &s)
				r := w.referee("player")
				r.Play(s)
				r.Wait()
				require.Empty(t, w.events())
				require.Zero(t, w.bots[0].dials)
				w.bots[2].unknown.Store(false)
				r.Play(w.seating())
				r.Wait()
				require.Len(t, w.ladder.finished, 1)
			})
		})
	}
}

// times are when the stored events occurred.
func (w *world) times() []time.Time {
	var times []time.Time
	for r := range w.recorded() {
		m, err := eventstore.DecodeMetadata(r)
		require.NoError(w.t, err)
		times = append(times, m.At)
	}
	return times
}

// playedMs is the time played that the last event names.
func (w *world) playedMs() (ms int64) {
	for r := range w.recorded() {
		m, err := eventstore.DecodeMetadata(r)
		require.NoError(w.t, err)
		ms = *m.PlayedMs
	}
	return ms
}
