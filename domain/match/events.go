package match

import (
	"strings"

	"hexarena/domain/beacon"
	"hexarena/domain/event"
	"hexarena/domain/seed"
)

// Event is a fact of a match's stream. EventType returns the name of its type
// in the log. This name never changes.
type Event interface{ EventType() string }

// Seat describes the bot at one seat, at the start of the match.
type Seat struct {
	BotID   string  `json:"botId"`
	BotName string  `json:"botName"`
	OwnerID string  `json:"ownerId"`
	Mu      float64 `json:"mu"`
	Sigma   float64 `json:"sigma"`

	Version string `json:"version,omitempty"` // of the bot's program, as the bot named it; empty if it named none
}

// MaxVersion is the maximum length of a bot's version.
const MaxVersion = 40

// ValidVersion reports whether a bot may name this version: 1 to MaxVersion printable
// ASCII characters.
func ValidVersion(version string) bool {
	unprintable := func(r rune) bool { return r < 0x20 || r > 0x7E }
	return version != "" && len(version) <= MaxVersion && !strings.ContainsFunc(version, unprintable)
}

// Table identifies the table at which a match was seated. The match's id and
// seed are derived from it.
type Table struct {
	Bots     []string `json:"bots"`     // bot ids in ladder order
	Revision uint64   `json:"revision"` // revision of the table's TablesSeated
	Index    int      `json:"index"`    // index of the table in that event
	SeedKey  string   `json:"seedKey"`  // id of the seed key
}

// Deadlines holds the time limits of a match, in milliseconds.
type Deadlines struct {
	DecisionMs int64 `json:"decisionMs"`
	WallMs     int64 `json:"wallMs"`
	BankMs     int64 `json:"bankMs,omitempty"` // the total time of all seats; 0 without a time bank
}

// RulesVersion is the number that MatchStarted stores for the current rules. Raise it
// with every change to the rules. Today only the export reads this number. Every
// build of the program plays and checks all matches by the rules that it contains
// (docs/CONTRIBUTING.md, "Add or change a rule").
const RulesVersion = 1

// Started opens a match. The seed determines its seats.
type Started struct {
	MatchID    string    `json:"matchId"`
	Mode       string    `json:"mode"`
	Rules      int       `json:"rules"`
	Seats      []Seat    `json:"seats"`
	Table      Table     `json:"table"`
	Commitment seed.Seed `json:"commitment"`
	Nonces     []string  `json:"nonces"` // in table order
	Deadlines  Deadlines `json:"deadlines"`

	Beacon *beacon.Round `json:"beacon,omitempty"` // the round that the seed uses; nil without a beacon
}

// Claimed records that a referee took over the match. After this event, earlier
// referees cannot append to the stream.
type Claimed struct {
	Player string `json:"player"`
}

// BoardLaid publishes the board.
type BoardLaid struct{ BoardData }

// DiceRolled records the roll that opened a turn.
type DiceRolled struct {
	Seat int `json:"seat"`
	RollData
}

// ActionPlayed records an action that was played: a seat's answer, or the
// default.
type ActionPlayed struct {
	Seat int `json:"seat"`
	ActionData
}

// CardStolen records which seat was robbed, but not the card.
type CardStolen struct {
	Seat int `json:"seat"`
	StealData
}

// TradeExecuted records a trade between two seats.
type TradeExecuted struct{ TradeData }

// AwardMoved records that an award changed hands.
type AwardMoved struct{ AwardData }

// DecisionTimedOut records that no usable answer arrived. Heard means that a complete
// but stale frame arrived while the decision was open, so the bot has not missed the
// match. Heard is not public.
type DecisionTimedOut struct {
	Seat int `json:"seat"`
	TimeoutData
	Heard bool `json:"heard,omitempty"`
}

// AnswerRejected records an answer that broke the rules.
type AnswerRejected struct {
	Seat int `json:"seat"`
	IllegalData
}

// SeatResigned records that a seat received its third strike and resigned.
type SeatResigned struct {
	Seat int `json:"seat"`
	ResignData
}

// Proof lets anyone recompute the seed (docs/audit.md).
type Proof struct {
	ServerSeed seed.Seed `json:"serverSeed"`
	Nonces     []string  `json:"nonces"` // in table order
	Table      []string  `json:"table"`  // bot ids in ladder order
	Revision   uint64    `json:"revision"`
	Index      int       `json:"index"`
	SeedKey    string    `json:"seedKey"`

	Beacon *beacon.Round `json:"beacon,omitempty" doc:"The round of the beacon that the seed uses; absent if the arena had no beacon."`
}

// GameEnded ends a match with placements, and publishes its seed.
type GameEnded struct {
	EndData
	Seed  seed.Seed `json:"seed"`
	Proof Proof     `json:"proof"`
}

// Reasons for an abort.
const (
	WallClock = "wall_clock"
	Operator  = "operator"
)

// Aborted ends a match without placements, and publishes its seed.
type Aborted struct {
	Why    string    `json:"why"`              // WallClock or Operator
	Reason string    `json:"reason,omitempty"` // from the operator; empty for WallClock
	Seed   seed.Seed `json:"seed"`
	Proof  Proof     `json:"proof"`
}

// EventType implements Event.
func (Started) EventType() string { return "MatchStarted" }

// EventType implements Event.
func (Claimed) EventType() string { return "MatchClaimed" }

// EventType implements Event.
func (BoardLaid) EventType() string { return "BoardLaid" }

// EventType implements Event.
func (DiceRolled) EventType() string { return "DiceRolled" }

// EventType implements Event.
func (ActionPlayed) EventType() string { return "ActionPlayed" }

// EventType implements Event.
func (CardStolen) EventType() string { return "CardStolen" }

// EventType implements Event.
func (TradeExecuted) EventType() string { return "TradeExecuted" }

// EventType implements Event.
func (AwardMoved) EventType() string { return "AwardMoved" }

// EventType implements Event.
func (DecisionTimedOut) EventType() string { return "DecisionTimedOut" }

// EventType implements Event.
func (AnswerRejected) EventType() string { return "AnswerRejected" }

// EventType implements Event.
func (SeatResigned) EventType() string { return "SeatResigned" }

// EventType implements Event.
func (GameEnded) EventType() string { return "GameEnded" }

// EventType implements Event.
func (Aborted) EventType() string { return "MatchAborted" }

// Decode reads a stored event. An unknown type is an error.
func Decode(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "MatchStarted":
		return event.Decode[Started](data)
	case "MatchClaimed":
		return event.Decode[Claimed](data)
	case "BoardLaid":
		return event.Decode[BoardLaid](data)
	case "DiceRolled":
		if e, ok := scanRoll(data); ok {
			return e, nil
		}
		return event.Decode[DiceRolled](data)
	case "ActionPlayed":
		if e, ok := scanAction(data); ok {
			return e, nil
		}
		return event.Decode[ActionPlayed](data)
	case "CardStolen":
		return event.Decode[CardStolen](data)
	case "TradeExecuted":
		return event.Decode[TradeExecuted](data)
	case "AwardMoved":
		return event.Decode[AwardMoved](data)
	case "DecisionTimedOut":
		return event.Decode[DecisionTimedOut](data)
	case "AnswerRejected":
		return event.Decode[AnswerRejected](data)
	case "SeatResigned":
		return event.Decode[SeatResigned](data)
	case "GameEnded":
		return event.Decode[GameEnded](data)
	case "MatchAborted":
		return event.Decode[Aborted](data)
	default:
		return nil, event.UnknownType(eventType, "a match stream")
	}
}
