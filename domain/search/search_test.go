package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
)

// The imagined cards of the seat that rolled may be worth so many points that this seat
// would have won. The mind must discard all the same.
func TestDiscardIfTheRollerSeemsToWin(t *testing.T) {
	s := played(t, 30).Game
	me := (s.Seat + 1) % s.Seats
	s.Hands[me] = game.Cards{4, 3, 2, 1, 0}
	s.Devs[s.Seat][game.VictoryPoint] = 9
	a := newIsland(s.Layout).drop(&s, me)
	require.Equal(t, game.Discard, a.Type)
	require.Equal(t, 5, a.Giving.Total())
	require.True(t, s.Hands[me].Covers(a.Giving))
}

// played returns a match of random seats at a decision of a turn.
func played(t *testing.T, turn uint16) match.Match {
	t.Helper()
	m, _ := matchtest.Start(seed.Seed{byte(turn)}, 4)
	rng := game.NewRand(uint64(turn))
	player := matchtest.Player{Below: func(n int) int { return below(&rng, n) }, Build: true}
	for m.Game.Turn < turn || m.Asks()[0].Kind != game.KindTurn {
		var outcomes []match.Outcome
		for _, d := range m.Asks() {
			outcomes = append(outcomes, player.Answer(&m, d))
		}
		next, _, err := m.Advance(outcomes)
		require.NoError(t, err)
		m = next
	}
	return m
}

// Imagined cards agree with everything that the view shows.
func TestImaginedCardsAgreeWithTheView(t *testing.T) {
	for turn := uint16(5); turn <= 60; turn += 5 {
		m := played(t, turn)
		d := m.Asks()[0]
		r := m.Request(d)
		s := look(&r.View, game.KindTurn, false)
		rng := game.NewRand(uint64(turn))
		var income [game.MaxSeats][board.Resources]float64
		for range 20 {
			var has [game.MaxSeats]game.Cards
			for seat := range m.Game.Seats {
				if m.Game.Hands[seat][board.Wool] > 0 {
					has[seat][board.Wool] = 1
				}
			}
			h := s.imagine(&rng, has, &income)
			require.Equal(t, m.Game.Hands[d.Seat], h.Hands[d.Seat])
			require.Equal(t, m.Game.Devs[d.Seat], h.Devs[d.Seat])
			require.Equal(t, m.Game.Bought[d.Seat], h.Bought[d.Seat])
			require.Len(t, h.Deck, int(m.Game.Deck))
			left := game.DeckCounts()
			for seat := range m.Game.Seats {
				require.Equal(t, int(m.Game.HandCounts[seat]), h.Hands[seat].Total())
				require.Equal(t, int(m.Game.DevCounts[seat]), h.Devs[seat].Total()+h.Bought[seat].Total())
				require.True(t, h.Hands[seat].Covers(has[seat]) || int(seat) == d.Seat)
				left[game.Knight] -= m.Game.Knights[seat]
				for card := range left {
					left[card] -= h.Devs[seat][card] + h.Bought[seat][card]
				}
			}
			for _, card := range h.Deck {
				left[card]--
			}
			for card, n := range left {
				require.LessOrEqual(t, n, game.DeckCounts()[card], "more cards than in the deck")
			}
			require.Zero(t, left[game.Knight])
			require.Zero(t, left[game.VictoryPoint])
		}
	}
}

func TestWait(t *testing.T) {
	half := rates{0.25, 0.25, 0.25, 0.25, 0.25}
	for _, c := range []struct {
		hand game.Cards
		in   rates
		cost game.Cards
		want float64
	}{
		{game.Cards{1, 1}, rates{}, costs[buildRoad], 0},
		{game.Cards{1, 0}, rates{}, costs[buildRoad], never},
		{game.Cards{1, 0}, rates{0, 0.5}, costs[buildRoad], 2},
		{game.Cards{1, 0}, rates{0, 0, 0.5}, costs[buildRoad], 8}, // 4 wool for 1 lumber
		{game.Cards{0, 0}, rates{0.5, 0.25}, costs[buildRoad], 10.0 / 3},
		{game.Cards{5, 0}, rates{}, costs[buildRoad], 0},
	} {
		require.InDelta(t, c.want, wait(&c.hand, &c.in, &half, &c.cost), 1e-6, "%+v", c)
	}
}
