package search

import (
	"encoding/binary"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/seed"
)

// sight is what a seat sees of a game: public facts and its own cards.
type sight struct {
	me         uint8
	position   game.Position // the cards of other seats are empty
	handCounts [game.MaxSeats]int
	devCounts  [game.MaxSeats]int
	deck       int           // cards left
	unseen     game.DevCards // cards that are in the deck or in the hand of another seat
}

// look reads a view.
func look(v *match.View, kind game.Kind, devPlayed bool) *sight {
	s := &sight{me: uint8(v.Seat), deck: v.DeckRemaining}
	p := &s.position
	p.Layout, p.Seats, p.Bandit = v.Board.Layout(), uint8(v.SeatCount), uint8(v.Board.Bandit)
	p.Kind, p.Turn, p.Seat, p.DevPlayed = kind, uint16(v.Turn), s.me, devPlayed
	if v.Phase != "setup" {
		p.Phase = game.PhaseMain
		p.Seat = uint8((v.Turn - 1) % v.SeatCount)
	}
	if v.Dice != nil {
		p.Dice = [2]uint8{uint8(v.Dice[0]), uint8(v.Dice[1])}
	}
	for _, r := range v.Roads {
		p.Roads[r.Seat] = p.Roads[r.Seat].With(uint8(r.Edge))
	}
	for _, t := range v.Towns {
		towns := &p.Settlements[t.Seat]
		if t.City {
			towns = &p.Cities[t.Seat]
		}
		*towns = towns.With(uint8(t.Vertex))
	}
	for seat := range v.SeatCount {
		s.handCounts[seat], s.devCounts[seat] = v.HandCounts[seat], v.DevCounts[seat]
		p.Knights[seat] = uint8(v.KnightsPlayed[seat])
	}
	p.Holders = [2]uint8{game.LongestRoad: seatOf(v.Awards.LongestRoad), game.LargestArmy: seatOf(v.Awards.LargestArmy)}
	p.Hands[s.me] = game.Cards(v.Hand)
	p.Devs[s.me], p.Bought[s.me] = devCards(v.DevCards), devCards(v.DevBoughtThisTurn)
	s.count()
	return s
}

func seatOf(seat *int) uint8 {
	if seat == nil {
		return board.None
	}
	return uint8(*seat)
}

func devCards(names []string) (cards game.DevCards) {
	for card := game.Knight; card <= game.Embargo; card++ {
		for _, name := range names {
			if name == card.String() {
				cards[card]++
			}
		}
	}
	return cards
}

// count works out the unseen development cards. Other seats may have played cards
// whose kind the view no longer shows. Such a card counts as unseen, so unseen may have
// more cards than the deck and the hands.
func (s *sight) count() {
	s.unseen = game.DeckCounts()
	for card := range s.unseen {
		own := s.position.Devs[s.me][card] + s.position.Bought[s.me][card]
		if card == int(game.Knight) {
			for _, n := range s.position.Knights {
				own += n
			}
		}
		s.unseen[card] -= min(own, s.unseen[card])
	}
}

// imagine returns hidden cards that agree with what the seat sees. The chance that
// another seat has a resource grows with the seat's income of it. In an open trade, the
// offerer has at least the cards that it gives.
func (s *sight) imagine(rng *game.Rand, has [game.MaxSeats]game.Cards, income *[game.MaxSeats][board.Resources]float64) game.Hidden {
	h := s.position.Hidden
	for seat := range s.position.Seats {
		if seat == s.me {
			continue
		}
		h.Hands[seat] = has[seat]
		for left := s.handCounts[seat] - has[seat].Total(); left > 0; left-- {
			h.Hands[seat][weighted(rng, &income[seat])]++
		}
	}
	s.imagineDevs(rng, &h)
	h.Seed = newSeed(rng)
	return h
}

// guess is the weight of a resource that a seat does not produce.
const guess = 0.03

func weighted(rng *game.Rand, income *[board.Resources]float64) int {
	total := 0.0
	for _, w := range income {
		total += w + guess
	}
	x := float64(rng.Uint64()>>11) / (1 << 53) * total
	for r, w := range income {
		if x -= w + guess; x < 0 {
			return r
		}
	}
	return board.Resources - 1
}

// imagineDevs deals the unseen development cards. It leaves out the cards that have
// been played: they are neither knights nor victory points.
func (s *sight) imagineDevs(rng *game.Rand, h *game.Hidden) {
	cards := make([]game.DevCard, 0, game.DeckSize)
	for card, n := range s.unseen {
		for range n {
			cards = append(cards, game.DevCard(card))
		}
	}
	for i := len(cards) - 1; i > 0; i-- {
		j := below(rng, i+1)
		cards[i], cards[j] = cards[j], cards[i]
	}
	held := s.deck
	for seat, n := range s.devCounts {
		if seat != int(s.me) {
			held += n
		}
	}
	for i := 0; len(cards) > held && i < len(cards); {
		if cards[i] > game.VictoryPoint {
			cards = slices.Delete(cards, i, i+1)
		} else {
			i++
		}
	}
	for seat, n := range s.devCounts {
		if seat != int(s.me) {
			for range min(n, len(cards)) {
				h.Devs[seat][cards[0]]++
				cards = cards[1:]
			}
		}
	}
	h.Deck = cards[:min(s.deck, len(cards))]
}

func below(rng *game.Rand, n int) int { return int(rng.Uint64() >> 33 % uint64(n)) }

// newSeed makes a seed for dice and steals.
func newSeed(rng *game.Rand) (sd seed.Seed) {
	for i := 0; i < len(sd); i += 8 {
		binary.LittleEndian.PutUint64(sd[i:], rng.Uint64())
	}
	return sd
}
