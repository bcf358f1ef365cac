package match

import "encoding/json"

// The shapes of MatchEvent.data, one per public kind (specification, "Replay
// events"). The stored events embed them, so that the two cannot differ.

// BoardData is the data of a board event.
type BoardData struct {
	Hexes  []Hex  `json:"hexes"`
	Ports  []Port `json:"ports"`
	Bandit int    `json:"bandit"`
}

// RollData is the data of a roll event.
type RollData struct {
	Turn int    `json:"turn"`
	Dice [2]int `json:"dice"` // each 1..6
}

// ActionData is the data of an action event.
type ActionData struct {
	Decision  int             `json:"decision"`
	Kind      string          `json:"kind"`
	Action    json.RawMessage `json:"action"` // the schema's fields, exactly as answered
	Default   bool            `json:"default"`
	ElapsedMs *int64          `json:"elapsedMs"`           // null for a default
	Collected []int           `json:"collected,omitempty"` // play_embargo: cards taken, by seat
}

// StealData is the data of a steal event.
type StealData struct {
	Victim int `json:"victim"`
}

// TradeData is the data of a trade event: Give is what From gave.
type TradeData struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Give Counts `json:"give"`
	Get  Counts `json:"get"`
}

// AwardData is the data of an award event; null is nobody.
type AwardData struct {
	Award string `json:"award"` // longestRoad or largestArmy
	From  *int   `json:"from"`
	To    *int   `json:"to"`
}

// Causes of a timeout.
const (
	CauseDeadline  = "deadline"
	CauseDropped   = "dropped"
	CauseMalformed = "malformed"
	CauseOversized = "oversized"
)

// TimeoutData is the data of a timeout event.
type TimeoutData struct {
	Decision  int     `json:"decision"`
	Kind      string  `json:"kind"`
	Cause     string  `json:"cause"`
	ElapsedMs int64   `json:"elapsedMs"`
	Answer    *string `json:"answer,omitempty"` // the malformed frame
	Strikes   int     `json:"strikes"`          // with this one
}

// IllegalData is the data of an illegal event.
type IllegalData struct {
	Decision  int    `json:"decision"`
	Kind      string `json:"kind"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Answer    string `json:"answer"` // the raw frame
	ElapsedMs int64  `json:"elapsedMs"`
	Strikes   int    `json:"strikes"` // with this one
}

// ResignData is the data of a resign event.
type ResignData struct {
	Strikes int `json:"strikes"`
}

// EndData is the data of an end event.
type EndData struct {
	Reason     string `json:"reason"`     // win, stalemate or turn_cap
	Scores     []int  `json:"scores"`     // true points, by seat
	Placements []int  `json:"placements"` // by seat
}

// PublicEvent is a MatchEvent. Data is left out of a running match's frames.
type PublicEvent struct {
	Seq  int    `json:"seq"` // 1, 2, 3, … over a match's public events
	At   string `json:"at"`  // RFC 3339, UTC, milliseconds
	Kind string `json:"kind"`
	Seat *int   `json:"seat,omitempty"`
	Data any    `json:"data,omitempty"`
}

// Publish returns the public kind, seat and data of an event, or "" for one
// that is not public.
func Publish(e Event) (kind string, seat *int, data any) {
	switch e := e.(type) {
	case BoardLaid:
		return "board", nil, e.BoardData
	case DiceRolled:
		return "roll", &e.Seat, e.RollData
	case ActionPlayed:
		return "action", &e.Seat, e.ActionData
	case CardStolen:
		return "steal", &e.Seat, e.StealData
	case TradeExecuted:
		return "trade", &e.From, e.TradeData
	case AwardMoved:
		return "award", e.To, e.AwardData
	case DecisionTimedOut:
		return "timeout", &e.Seat, e.TimeoutData
	case AnswerRejected:
		return "illegal", &e.Seat, e.IllegalData
	case SeatResigned:
		return "resign", &e.Seat, e.ResignData
	case GameEnded:
		return "end", nil, e.EndData
	default:
		return "", nil, nil
	}
}
