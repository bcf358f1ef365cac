package game

import "hexarena/domain/board"

// MaxSeats is how many play at the most; three may.
const MaxSeats = 4

// Kind is what a decision asks for; it selects the shape of the action.
type Kind uint8

// The kinds of decisions.
const (
	KindSetup Kind = iota
	KindTurn
	KindDiscard
	KindBandit
	KindTrade
)

var kindNames = [...]string{"setup", "turn", "discard", "bandit", "trade"}

// String returns the kind's name on the wire.
func (k Kind) String() string { return kindNames[k] }

// Type is what an action does.
type Type uint8

// The types of actions. Those from BuildRoad to EndTurn answer a turn
// decision and carry their name on the wire; the other kinds of decisions
// have one type each.
const (
	Setup Type = iota // settlement at Vertex, road on Edge
	BuildRoad
	BuildSettlement
	BuildCity
	BuyDev
	PlayKnight
	PlayRoadworks
	PlayWindfall
	PlayEmbargo
	BankTrade
	OfferTrade
	EndTurn
	Discard
	MoveBandit
	Respond
)

var typeNames = [...]string{
	"setup", "build_road", "build_settlement", "build_city", "buy_dev", "play_knight", "play_roadworks",
	"play_windfall", "play_embargo", "bank_trade", "offer_trade", "end_turn", "discard", "bandit", "trade",
}

// String returns the type's name on the wire, or its decision's.
func (t Type) String() string { return typeNames[t] }

// ParseTurnType returns the type of a turn action by its name on the wire.
func ParseTurnType(name string) (Type, bool) {
	for t := BuildRoad; t <= EndTurn; t++ {
		if typeNames[t] == name {
			return t, true
		}
	}
	return 0, false
}

// Kind returns the kind of decision that a type answers.
func (t Type) Kind() Kind {
	switch t {
	case Setup:
		return KindSetup
	case Discard:
		return KindDiscard
	case MoveBandit:
		return KindBandit
	case Respond:
		return KindTrade
	default:
		return KindTurn
	}
}

// Cards counts cards by resource: a hand, or one side of a trade.
type Cards [board.Resources]uint8

// Total is how many cards c holds.
func (c Cards) Total() int {
	return int(c[0]) + int(c[1]) + int(c[2]) + int(c[3]) + int(c[4])
}

// Covers says whether c holds at least d.
func (c Cards) Covers(d Cards) bool {
	return c[0] >= d[0] && c[1] >= d[1] && c[2] >= d[2] && c[3] >= d[3] && c[4] >= d[4]
}

// Plus returns c and d.
func (c Cards) Plus(d Cards) Cards {
	for r := range c {
		c[r] += d[r]
	}
	return c
}

// Minus returns c less d, which c must cover.
func (c Cards) Minus(d Cards) Cards {
	for r := range c {
		c[r] -= d[r]
	}
	return c
}

// Action is one answer, its table talk aside. It is a value without pointers;
// which fields count depends on Type, and an optional field that is absent is
// board.None.
type Action struct {
	Type   Type
	Vertex uint8          // Setup, BuildSettlement, BuildCity
	Edges  [2]uint8       // Setup and BuildRoad: the first; PlayRoadworks: one or two
	Hex    uint8          // PlayKnight, MoveBandit
	Victim uint8          // PlayKnight, MoveBandit: optional
	To     uint8          // OfferTrade: optional
	Give   board.Resource // BankTrade
	Get    board.Resource // BankTrade; PlayEmbargo: the resource named
	Giving Cards          // OfferTrade; Discard: the cards dropped
	Taking Cards          // OfferTrade; PlayWindfall: the cards taken
	Accept bool           // Respond
}

// DevCard is a development card.
type DevCard uint8

// The development cards, in the order of an unshuffled deck.
const (
	Knight DevCard = iota
	VictoryPoint
	Roadworks
	Windfall
	Embargo
)

// DevKinds is how many kinds of development cards there are, DeckSize how many
// cards.
const (
	DevKinds = 5
	DeckSize = 25
)

var devNames = [...]string{"knight", "victory_point", "roadworks", "windfall", "embargo"}

// String returns the card's name on the wire.
func (d DevCard) String() string { return devNames[d] }

// DevCards counts development cards by kind.
type DevCards [DevKinds]uint8

// Total is how many cards d holds.
func (d DevCards) Total() int {
	return int(d[0]) + int(d[1]) + int(d[2]) + int(d[3]) + int(d[4])
}

// Award is one of the two awards, worth 2 points each.
type Award uint8

// The awards, in the order in which they move.
const (
	LongestRoad Award = iota
	LargestArmy
)

var awardNames = [...]string{"longestRoad", "largestArmy"}

// String returns the award's name on the wire.
func (a Award) String() string { return awardNames[a] }

// EndReason is why a game ended.
type EndReason uint8

// The reasons, in order of precedence.
const (
	Win EndReason = iota
	Stalemate
	TurnCap
)

var reasonNames = [...]string{"win", "stalemate", "turn_cap"}

// String returns the reason's name on the wire.
func (r EndReason) String() string { return reasonNames[r] }

// ConsequenceKind is what follows by itself.
type ConsequenceKind uint8

// What follows, in the order of one append: what an action causes, then the
// end, or the roll of the next turn.
const (
	Stole ConsequenceKind = iota
	Traded
	AwardMoved
	Ended
	Rolled
)

// Consequence is a fact that follows from the state without anyone's answer.
// Which fields count depends on Kind.
type Consequence struct {
	Kind   ConsequenceKind
	Seat   uint8    // Stole: the thief; Rolled: the roller
	From   uint8    // Traded: the offerer; AwardMoved: the holder so far, or board.None
	To     uint8    // Traded: the accepter; AwardMoved: the new holder, or board.None; Stole: the victim
	Give   Cards    // Traded: what From gives
	Get    Cards    // Traded: what From gets
	Award  Award    // AwardMoved
	Turn   uint16   // Rolled
	Dice   [2]uint8 // Rolled
	Reason EndReason
}

// Illegal says which rule an answer broke. It costs the seat a strike.
type Illegal struct {
	Reason  string // a stable snake_case code, listed in docs/protocol.md
	Message string // a sentence that helps the owner
}

func (i *Illegal) Error() string { return i.Reason + ": " + i.Message }
