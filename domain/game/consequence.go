package game

import "slices"

// Award is one of the two awards, worth 2 points each.
type Award uint8

// The awards, in the order in which they are reassigned.
const (
	LongestRoad Award = iota
	LargestArmy
)

var awardNames = [...]string{"longestRoad", "largestArmy"}

// String returns the award's name on the wire.
func (a Award) String() string { return nameOf(awardNames[:], uint8(a)) }

// ParseAward returns the award with the given name.
func ParseAward(name string) (Award, bool) { return parse[Award](awardNames[:], name) }

// EndReason says why a game ended.
type EndReason uint8

// The reasons why a game ends, in order of precedence.
const (
	Win EndReason = iota
	Stalemate
	TurnCap
)

var reasonNames = [...]string{"win", "stalemate", "turn_cap"}

// String returns the reason's name on the wire.
func (r EndReason) String() string { return nameOf(reasonNames[:], uint8(r)) }

// ParseEndReason returns the reason with the given name.
func ParseEndReason(name string) (EndReason, bool) { return parse[EndReason](reasonNames[:], name) }

// ConsequenceKind is the type of a Consequence's Kind.
type ConsequenceKind uint8

// The kinds, in their order within one append: the effects of an action, then the
// end of the game or the roll of the next turn.
const (
	Stole ConsequenceKind = iota
	Traded
	AwardMoved
	Ended
	Rolled
)

// Consequence is a fact that follows from the state without a decision by a
// seat. Kind determines which fields are used.
type Consequence struct {
	Kind   ConsequenceKind
	Seat   uint8    // Stole: the thief; Rolled: the roller
	From   uint8    // Traded: the offerer; AwardMoved: the previous holder, or board.None
	To     uint8    // Traded: the accepter; AwardMoved: the new holder, or board.None; Stole: the victim
	Give   Cards    // Traded: what From gives
	Get    Cards    // Traded: what From gets
	Award  Award    // AwardMoved
	Turn   uint16   // Rolled
	Dice   [2]uint8 // Rolled
	Reason EndReason
}

func nameOf(names []string, i uint8) string {
	if int(i) >= len(names) {
		return "unknown"
	}
	return names[i]
}

// parse returns the index of a name. For an unknown name, it returns 0 and
// false.
func parse[T ~uint8](names []string, name string) (T, bool) {
	i := slices.Index(names, name)
	return T(max(i, 0)), i >= 0
}
