package game

import (
	"hexarena/domain/board"
	"hexarena/domain/seed"
)

// Position describes a game in progress: the facts that a player sees, and the cards
// that the player can only guess. State makes a game from it that can be played on.
type Position struct {
	Layout board.Layout
	Seats  uint8
	Phase  Phase
	Turn   uint16
	Seat   uint8 // the seat whose turn or setup placement it is
	Dice   [2]uint8
	Bandit uint8

	Roads       [MaxSeats]board.EdgeSet
	Settlements [MaxSeats]board.VertexSet
	Cities      [MaxSeats]board.VertexSet
	Knights     [MaxSeats]uint8
	Holders     [2]uint8

	Kind      Kind // the decision owed: any kind except KindTrade
	DevPlayed bool // whether the seat on turn has played a development card this turn
	Hidden
}

// Hidden holds the cards of a game that not everybody sees, and the seed of its dice
// and steals.
type Hidden struct {
	Hands        [MaxSeats]Cards
	Devs, Bought [MaxSeats]DevCards
	Deck         []DevCard // the cards left, in the order in which seats will draw them
	Seed         seed.Seed
}

// State returns the game at the position. It counts no offers in the current turn, and
// takes this turn as the last one in which a score changed.
func (p *Position) State() State {
	s := State{Public: NewPublic(int(p.Seats), p.Layout)}
	s.Phase, s.Turn, s.Seat, s.Dice, s.Bandit = p.Phase, p.Turn, p.Seat, p.Dice, p.Bandit
	s.Knights, s.Holders = p.Knights, p.Holders
	s.devPlayed, s.scored = p.DevPlayed, p.Turn
	for seat := range p.Seats {
		for towns := p.Settlements[seat] | p.Cities[seat]; towns != 0; towns = towns.Rest() {
			s.addSettlement(seat, towns.First())
		}
		s.Settlements[seat], s.Cities[seat] = p.Settlements[seat], p.Cities[seat]
	}
	for seat := range p.Seats {
		for roads := p.Roads[seat]; !roads.Empty(); roads = roads.Rest() {
			s.addRoad(seat, roads.First())
		}
	}
	s.Hide(&p.Hidden)
	switch p.Kind {
	case KindSetup:
		s.step = stepSetup
	case KindDiscard:
		s.beginSeven()
	case KindBandit:
		s.step = stepBandit
	default:
		s.step = stepTurn
	}
	return s
}

// Hide replaces the hidden cards of a game, and the seed of its dice and steals. The
// counts that everyone sees follow from the cards.
func (s *State) Hide(h *Hidden) {
	s.Hands, s.Devs, s.Bought = h.Hands, h.Devs, h.Bought
	for seat := range s.Seats {
		s.HandCounts[seat] = uint16(h.Hands[seat].Total())
		s.DevCounts[seat] = uint8(h.Devs[seat].Total() + h.Bought[seat].Total())
	}
	s.Deck = uint8(len(h.Deck))
	for i, card := range h.Deck {
		s.deck[DeckSize-len(h.Deck)+i] = uint8(card)
	}
	s.seed, s.dice, s.steals = h.Seed, seed.Stream{}, seed.Stream{}
	s.rollAhead()
}

// RoadSpots returns the edges on which a seat's network allows a road.
func (p *Public) RoadSpots(seat uint8) board.EdgeSet { return p.roadSpots(seat) }

// SettlementSpots returns the vertices on which a seat may build a settlement in the
// main phase.
func (p *Public) SettlementSpots(seat uint8) board.VertexSet { return p.settlementSpots(seat) }

// OpenVertices returns the vertices that the distance rule leaves free.
func (p *Public) OpenVertices() board.VertexSet { return p.openVertices() }

// RoadLength returns the length of a seat's longest road.
func (p *Public) RoadLength(seat uint8) int { return int(p.net.trails[seat]) }

// Reach returns the edges that a seat's network reaches, taken or not.
func (p *Public) Reach(seat uint8) board.EdgeSet { return p.net.reach[seat] }

// FirstYield returns the cards that a second settlement on a vertex pays.
func (p *Public) FirstYield(vertex uint8) Cards { return p.firstYield(vertex) }

// DevPlayed reports whether the seat on turn has played a development card this turn.
func (s *State) DevPlayed() bool { return s.devPlayed }

// DeckCounts counts the development cards of a full deck.
func DeckCounts() DevCards { return deckCounts }
