package game

import (
	"slices"

	"hexarena/domain/seed"
)

// Reseed replaces all chance that has had no effect yet: the next rolls, the order of
// the cards left in the deck, and the cards of future robberies. The board, the hands
// and the set of cards in the deck stay. No consequence may be due. Only matches at home
// are reseeded: no checker accepts such a match.
func (s *State) Reseed(fresh seed.Seed) {
	s.seed, s.dice, s.steals = fresh, seed.Stream{}, seed.Stream{}
	left := s.deck[DeckSize-int(s.Deck):]
	slices.Sort(left) // so that only the seed decides the order
	fresh.ShuffleDeck(left)
	s.rollAhead()
}
