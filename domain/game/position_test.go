package game

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/board"
	"hexarena/domain/seed"
)

// position returns the position of a game that waits for a decision.
func position(s *State, kind Kind) Position {
	p := Position{
		Layout: s.Layout, Seats: s.Seats, Phase: s.Phase, Turn: s.Turn, Seat: s.Seat, Dice: s.Dice, Bandit: s.Bandit,
		Roads: s.Roads, Settlements: s.Settlements, Cities: s.Cities, Knights: s.Knights, Holders: s.Holders,
		Kind: kind, DevPlayed: s.devPlayed,
		Hidden: Hidden{Hands: s.Hands, Devs: s.Devs, Bought: s.Bought, Seed: seed.Seed{1}},
	}
	for _, card := range s.deck[DeckSize-s.Deck:] {
		p.Deck = append(p.Deck, DevCard(card))
	}
	return p
}

// A game that is made from its position has the same public facts and the same legal
// actions as the game itself. After an action, both still agree.
func TestPositionIsTheGame(t *testing.T) {
	checked := map[Kind]int{}
	for n := range uint64(8) {
		s, rng := New(seed.Seed{byte(n), 3}, 3+int(n%2)), NewRand(n)
		for !s.Over {
			if _, more := s.Next(); more {
				c, _ := s.Next()
				s.Apply(c)
				continue
			}
			kind, seats := s.Owed()
			first := s.step != stepDiscard || s.discarding == s.owing()
			if kind != KindTrade && first && (s.Turn < 60 || s.Turn%16 == 0) {
				p := position(&s, kind)
				made := p.State()
				same(t, &s, &made)
				seat := uint8(bits.TrailingZeros8(seats))
				require.Equal(t, s.Legal(nil, seat), made.Legal(nil, seat))
				require.Equal(t, s.Default(seat), made.Default(seat))
				checked[kind]++
			}
			s.Act(s.RandomLegal(&rng))
		}
	}
	for _, kind := range []Kind{KindSetup, KindTurn, KindBandit, KindDiscard} {
		require.Positive(t, checked[kind], kind)
	}
}

// owing returns the seats that must discard after a 7, before any of them has.
func (s *State) owing() (seats uint8) {
	for seat := range s.Seats {
		if s.HandCounts[seat] > HandLimit {
			seats |= 1 << seat
		}
	}
	return seats
}

// The function same() compares public facts. It ignores whether the last event was a
// roll, which matters only at the end of a game.
func same(t *testing.T, want, got *State) {
	t.Helper()
	a, b := want.Public, got.Public
	a.rolled, b.rolled = false, false
	a.Offer, b.Offer = Offer{}, Offer{}
	require.Equal(t, a, b)
	require.Equal(t, want.Hands, got.Hands)
	for seat := range want.Seats {
		require.Equal(t, want.TrueScore(seat), got.TrueScore(seat))
		require.Equal(t, want.RoadSpots(seat), got.RoadSpots(seat))
		require.Equal(t, want.SettlementSpots(seat), got.SettlementSpots(seat))
		for r := board.Brick; r < board.Desert; r++ {
			require.Equal(t, want.Rate(seat, r), got.Rate(seat, r))
		}
	}
}
