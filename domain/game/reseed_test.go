package game

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/seed"
)

// A reseeded game keeps everything that has happened, and the cards in its deck. Its
// seed decides all that follows.
func TestReseed(t *testing.T) {
	rng := NewRand(7)
	s := New(randomSeed(&rng), 4)
	for s.Deck > DeckSize-8 {
		for c, more := s.Next(); more; c, more = s.Next() {
			s.Apply(c)
		}
		require.False(t, s.Over, "choose another seed")
		s.Act(s.RandomLegal(&rng))
	}
	for c, more := s.Next(); more; c, more = s.Next() {
		s.Apply(c)
	}
	left := func(s *State) []uint8 { return s.deck[DeckSize-int(s.Deck):] }
	decks, rolls := map[string]bool{}, map[[2]uint8]bool{}
	for n := range 50 {
		fresh := s
		fresh.Reseed(seed.Seed{byte(n)})
		require.Equal(t, s.Public, fresh.Public)
		require.Equal(t, s.Hands, fresh.Hands)
		require.Equal(t, s.Devs, fresh.Devs)
		require.Equal(t, slices.Sorted(slices.Values(left(&s))), slices.Sorted(slices.Values(left(&fresh))))
		decks[string(left(&fresh))], rolls[fresh.ahead] = true, true

		again := s
		again.dice.Uniform(&again.seed, seed.Dice, 6) // chance that has been used up does not matter
		slices.Reverse(left(&again))
		again.Reseed(seed.Seed{byte(n)})
		require.Equal(t, fresh, again)
		a, b := NewRand(1), NewRand(1)
		Playout(&fresh, &a)
		Playout(&again, &b)
		require.Equal(t, fresh, again)
	}
	require.Greater(t, len(decks), 45)
	require.Greater(t, len(rolls), 20)
}
