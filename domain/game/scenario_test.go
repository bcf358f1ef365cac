package game

import (
	"hexarena/domain/board"
	"hexarena/domain/seed"
)

// The variable plain is a legal board that is easy to read: resources in rows, tokens
// in ascending order, the desert last.
var plain = board.Layout{
	Resources: [board.Hexes]board.Resource{
		board.Brick, board.Lumber, board.Wool,
		board.Grain, board.Ore, board.Brick, board.Lumber,
		board.Wool, board.Grain, board.Ore, board.Brick, board.Lumber,
		board.Wool, board.Grain, board.Ore, board.Lumber,
		board.Wool, board.Grain, board.Desert,
	},
	Tokens: [board.Hexes]uint8{2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 9, 9, 10, 10, 11, 11, 12, 0},
}

// newPlain returns a game on the plain board before its first placement.
func newPlain(seats int) State {
	s := New(seed.Seed{}, seats)
	s.Public = NewPublic(seats, plain)
	return s
}

// The functions below put a game directly into the state that a test needs, even a
// state that no legal game can reach.

// The type given is a change to a state.
type given func(*State)

func after(s State, changes ...given) State {
	for _, change := range changes {
		change(&s)
	}
	return s
}

// onTurn puts a game into the middle of a turn.
func onTurn(seat uint8, turn uint16) given {
	return func(s *State) {
		s.Phase, s.step, s.Seat, s.Turn, s.scored = PhaseMain, stepTurn, seat, turn, turn
		s.Dice = [2]uint8{3, 5}
	}
}

func settlements(seat uint8, vertices ...uint8) given {
	return func(s *State) {
		for _, v := range vertices {
			s.addSettlement(seat, v)
		}
	}
}

func cities(seat uint8, vertices ...uint8) given {
	return func(s *State) {
		for _, v := range vertices {
			s.addSettlement(seat, v)
			s.addCity(seat, v)
		}
	}
}

// The function roads() lays a seat's roads along a walk over vertices.
func roads(seat uint8, walk ...uint8) given {
	return func(s *State) {
		for i := range len(walk) - 1 {
			s.addRoad(seat, edgeBetween(walk[i], walk[i+1]))
		}
		s.contest()
	}
}

func hand(seat uint8, cards Cards) given {
	return func(s *State) {
		s.Hands[seat] = cards
		s.HandCounts[seat] = uint16(cards.Total())
	}
}

// devs gives a seat playable development cards.
func devs(seat uint8, cards DevCards) given {
	return func(s *State) {
		s.Devs[seat] = s.Devs[seat].plus(cards)
		s.DevCounts[seat] += uint8(cards.Total())
	}
}

func bought(seat uint8, cards DevCards) given {
	return func(s *State) {
		s.Bought[seat] = s.Bought[seat].plus(cards)
		s.DevCounts[seat] += uint8(cards.Total())
	}
}

func bandit(hex uint8) given { return func(s *State) { s.Bandit = hex } }

// The function rolled() begins a seat's turn with a roll, and stops before the seat's
// first decision.
func rolled(seat uint8, turn uint16, one, two uint8) given {
	return func(s *State) {
		s.Phase, s.scored = PhaseMain, turn
		s.Apply(Consequence{Kind: Rolled, Seat: seat, Turn: turn, Dice: [2]uint8{one, two}})
	}
}

// The function acted() plays an action and its consequences.
func acted(seat uint8, a Action) given {
	return func(s *State) {
		s.Act(seat, a)
		settleAll(s)
	}
}

func settleAll(s *State) {
	for c, more := s.Next(); more; c, more = s.Next() {
		s.Apply(c)
	}
}
