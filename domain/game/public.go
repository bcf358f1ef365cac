// Package game implements the rules: which seats must answer, which actions are
// legal, what their consequences are, and how a game ends. It is a pure core
// without a clock, I/O or table talk. All randomness comes from the seed in the
// state.
//
// Public is everything that a spectator sees, and is folded from public facts only.
// State embeds Public and adds hands, the deck and the random draws. These calls play
// a game:
//
//	for c, more := s.Next(); more; c, more = s.Next() { s.Apply(c) }
//	kind, seats := s.Owed()       // no more consequences: these seats must answer
//	err := s.Check(seat, action)  // nil, or the rule that it breaks
//	s.Act(seat, action)
//
// The same calls fold a recorded game. Public and State are values: an
// assignment forks a game, and == compares two games. Playout plays a game to
// its end.
package game

import "hexarena/domain/board"

// Phase is a phase of a game.
type Phase uint8

// The phases.
const (
	PhaseSetup Phase = iota
	PhaseMain
)

// The largest numbers of pieces that a seat may have on the board.
const (
	MaxRoads       = 15
	MaxSettlements = 5
	MaxCities      = 4
)

// Public is the part of a game that everyone sees. It is a value without
// pointers. NewPublic makes one.
type Public struct {
	Layout board.Layout
	Seats  uint8 // 3 or 4
	Phase  Phase
	Turn   uint16   // 0 during setup
	Seat   uint8    // the seat whose turn or setup placement it is
	Dice   [2]uint8 // 0, 0 during setup
	Bandit uint8

	Roads       [MaxSeats]board.EdgeSet
	Settlements [MaxSeats]board.VertexSet
	Cities      [MaxSeats]board.VertexSet

	HandCounts [MaxSeats]uint16
	DevCounts  [MaxSeats]uint8
	Knights    [MaxSeats]uint8 // played
	Deck       uint8           // cards left
	Holders    [2]uint8        // by Award: the holder's seat or board.None

	Offer Offer // the open trade
	Over  bool

	rolled bool // whether the last event was a roll
	net    network
}

// Offer is a trade offer that awaits responses. Open is false if no offer is
// open.
type Offer struct {
	Open      bool
	From      uint8
	To        uint8 // board.None: to all
	Give, Get Cards
	Asked     uint8 // one bit for each seat asked
	Answered  uint8 // seats that have answered
	Accepted  uint8 // seats that have accepted
}

// NewPublic returns a game of 3 or 4 seats before its first placement.
func NewPublic(seats int, layout board.Layout) Public {
	return Public{
		Layout:  layout,
		Seats:   uint8(seats),
		Bandit:  layout.Desert(),
		Deck:    DeckSize,
		Holders: [2]uint8{board.None, board.None},
		net:     newNetwork(&layout),
	}
}

// Score returns a seat's public points: 1 for each settlement, 2 for each city
// and 2 for each award.
func (p *Public) Score(seat uint8) int {
	score := p.Settlements[seat].Len() + 2*p.Cities[seat].Len()
	for _, holder := range p.Holders {
		if holder == seat {
			score += 2
		}
	}
	return score
}

// Asked returns one bit for each seat that the game asks after its last consequence or the
// last answer to its last question. It uses only public facts. While some of the seats
// have answered, use State.Owed.
func (p *Public) Asked() uint8 {
	switch discarding := p.overLimit(); {
	case p.Over:
		return 0
	case p.Offer.Open:
		return p.Offer.Asked
	case p.rolled && p.Dice[0]+p.Dice[1] == 7 && discarding != 0:
		return discarding
	default:
		return 1 << p.Seat
	}
}

// overLimit returns one bit for each seat that has more cards than it may keep at a seven.
func (p *Public) overLimit() (seats uint8) {
	for seat := range p.Seats {
		if p.HandCounts[seat] > HandLimit {
			seats |= 1 << seat
		}
	}
	return seats
}

// Towns returns the vertices of a seat's settlements and cities.
func (p *Public) Towns(seat uint8) board.VertexSet {
	return p.Settlements[seat] | p.Cities[seat]
}

// Rate returns how many cards of a resource a seat gives the bank for one card.
func (p *Public) Rate(seat uint8, give board.Resource) uint16 {
	return uint16(p.net.rates[seat][give])
}

// The method rivals() returns the vertices of the towns of all other seats.
func (p *Public) rivals(seat uint8) board.VertexSet {
	var towns board.VertexSet
	for other := range p.Seats {
		if other != seat {
			towns |= p.Towns(other)
		}
	}
	return towns
}

// townAt returns the seat that has a town on a vertex, or board.None.
func (p *Public) townAt(v uint8) uint8 {
	for seat := range p.Seats {
		if p.Towns(seat).Has(v) {
			return seat
		}
	}
	return board.None
}

// roadAt returns the seat whose road lies on an edge, or board.None.
func (p *Public) roadAt(e uint8) uint8 {
	for seat := range p.Seats {
		if p.Roads[seat].Has(e) {
			return seat
		}
	}
	return board.None
}
