// Package game holds the rules: whose answer is owed, which actions are legal,
// what follows from them, how a game ends. It is a pure core: no clock, no I/O,
// no table talk; chance comes from the seed in the state.
//
// Public is all that a spectator sees, and folds from public facts alone.
// State embeds it and adds hands, deck and chance. A game is played by
//
//	for c, more := s.Next(); more; c, more = s.Next() { s.Apply(c) }
//	kind, seats := s.Owed()       // nothing follows by itself: someone must answer
//	err := s.Check(seat, action)  // nil, or the rule that it breaks
//	s.Act(seat, action)
//
// and the same calls fold a recorded one.
package game

import "hexarena/domain/board"

// Phase of a game.
type Phase uint8

// The phases.
const (
	PhaseSetup Phase = iota
	PhaseMain
)

// Public is what everyone sees of a game. It is a value without pointers.
type Public struct {
	Layout board.Layout
	Seats  uint8 // 3 or 4
	Phase  Phase
	Turn   uint16   // 0 during setup
	Seat   uint8    // whose turn (or setup placement) it is
	Dice   [2]uint8 // 0, 0 during setup
	Bandit uint8

	Roads       [MaxSeats]board.EdgeSet
	Settlements [MaxSeats]board.VertexSet
	Cities      [MaxSeats]board.VertexSet

	HandCounts [MaxSeats]uint8
	DevCounts  [MaxSeats]uint8
	Knights    [MaxSeats]uint8 // played
	Deck       uint8           // cards left
	Holders    [2]uint8        // by Award: the holder's seat or board.None

	Offer Offer // the open trade
	Over  bool
}

// Offer is a trade offer that awaits responses; Open says whether there is one.
type Offer struct {
	Open      bool
	From      uint8
	To        uint8 // board.None: to all
	Give, Get Cards
	Asked     uint8 // seats asked, a bit each
	Answered  uint8 // seats that have answered
	Accepted  uint8 // seats that have accepted
}

// The functions below are the whole surface that domain/match uses:
//
//	func NewPublic(seats int, layout board.Layout) Public
//	func (p *Public) Score(seat uint8) int          // public points: settlements, cities, awards
//	func (p *Public) Act(seat uint8, a Action, collected [MaxSeats]uint8) // folds an action; collected is for PlayEmbargo
//	func (p *Public) Apply(c Consequence)
//
//	func New(s seed.Seed, seats int) State
//	func (s *State) Owed() (kind Kind, seats uint8)  // seats: a bit each; 0 when over or while Next has more
//	func (s *State) Check(seat uint8, a Action) error // *Illegal
//	func (s *State) Act(seat uint8, a Action) (collected [MaxSeats]uint8)
//	func (s *State) Next() (Consequence, bool)       // does not change s
//	func (s *State) Apply(c Consequence)
//	func (s *State) Default(seat uint8) Action       // the default of the decision that seat owes
//	func (s *State) TrueScore(seat uint8) int
//	func (s *State) Placements() [MaxSeats]uint8     // competition ranking once over
//	State.Hands [MaxSeats]Cards; State.Devs, State.Bought [MaxSeats]DevCards
