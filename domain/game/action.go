package game

import "hexarena/domain/board"

// MaxSeats is the size of a full table. A table may also have three seats.
const MaxSeats = 4

// Kind is the kind of a decision. It selects the shape of the action.
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
func (k Kind) String() string { return nameOf(kindNames[:], uint8(k)) }

// ParseKind returns the kind of decision with the given name.
func ParseKind(name string) (Kind, bool) { return parse[Kind](kindNames[:], name) }

// Type says what an action does.
type Type uint8

// The types of actions. The types from BuildRoad to EndTurn belong to turn
// decisions, and their names appear on the wire. Each other kind of decision
// has only one type.
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

// String returns the type's name on the wire. For a type without such a name,
// it returns the name of the kind of decision.
func (t Type) String() string { return nameOf(typeNames[:], uint8(t)) }

// ParseTurnType returns the type of a turn action by its name on the wire.
func ParseTurnType(name string) (Type, bool) {
	t, ok := parse[Type](typeNames[:EndTurn+1], name)
	return t, ok && t >= BuildRoad
}

// Kind returns the kind of decision for which a seat may send this type.
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

// Action is the answer to one decision, without table talk. It is a value
// without pointers. Type determines which fields are used. An absent optional
// field is board.None.
type Action struct {
	Type   Type
	Vertex uint8          // Setup, BuildSettlement, BuildCity
	Edges  [2]uint8       // Setup and BuildRoad use the first edge; PlayRoadworks uses one or both
	Hex    uint8          // PlayKnight, MoveBandit
	Victim uint8          // PlayKnight, MoveBandit: optional
	To     uint8          // OfferTrade: optional
	Give   board.Resource // BankTrade
	Get    board.Resource // BankTrade; PlayEmbargo: the resource named
	Giving Cards          // OfferTrade; Discard: the cards dropped
	Taking Cards          // OfferTrade; PlayWindfall: the cards taken
	Accept bool           // Respond
}
