package match

import (
	"encoding/json"
	"fmt"
)

// The types below are the shapes of MatchEvent.data, one for each public kind
// (docs/events.md). The stored events embed them, so the stored and the public
// shapes cannot differ.

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
	Action    json.RawMessage `json:"action"` // the schema's fields, as the bot sent them
	Default   bool            `json:"default"`
	ElapsedMs *int64          `json:"elapsedMs"`           // null for a default
	Collected []int           `json:"collected,omitempty"` // play_embargo: cards taken, by seat
}

// StealData is the data of a steal event.
type StealData struct {
	Victim int `json:"victim"`
}

// TradeData is the data of a trade event. Give holds the cards that the seat From
// gave away.
type TradeData struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Give Counts `json:"give"`
	Get  Counts `json:"get"`
}

// AwardData is the data of an award event. A null seat means nobody.
type AwardData struct {
	Award string `json:"award"` // longestRoad or largestArmy
	From  *int   `json:"from"`
	To    *int   `json:"to"`
}

// The causes of a timeout.
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
	Strikes   int     `json:"strikes"`          // including this one
}

// IllegalData is the data of an illegal event.
type IllegalData struct {
	Decision  int    `json:"decision"`
	Kind      string `json:"kind"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Answer    string `json:"answer"` // the raw frame
	ElapsedMs int64  `json:"elapsedMs"`
	Strikes   int    `json:"strikes"` // including this one
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

// PublicEvent is a MatchEvent. The frames of a running match leave out Data.
type PublicEvent struct {
	Seq  int    `json:"seq"` // 1, 2, 3, … over a match's public events
	At   string `json:"at"`  // RFC 3339, UTC, milliseconds
	Kind string `json:"kind"`
	Seat *int   `json:"seat,omitempty"`
	Data any    `json:"data,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler. It decodes Data into the type of the
// event's kind. Data of an unknown kind is an error.
func (p *PublicEvent) UnmarshalJSON(text []byte) (err error) {
	type plain PublicEvent
	var data json.RawMessage
	e := struct {
		*plain
		Data *json.RawMessage `json:"data"`
	}{(*plain)(p), &data}
	if err := json.Unmarshal(text, &e); err != nil || data == nil {
		return err
	}
	switch p.Kind {
	case "board":
		p.Data, err = decodeData[BoardData](data)
	case "roll":
		p.Data, err = decodeData[RollData](data)
	case "action":
		p.Data, err = decodeData[ActionData](data)
	case "steal":
		p.Data, err = decodeData[StealData](data)
	case "trade":
		p.Data, err = decodeData[TradeData](data)
	case "award":
		p.Data, err = decodeData[AwardData](data)
	case "timeout":
		p.Data, err = decodeData[TimeoutData](data)
	case "illegal":
		p.Data, err = decodeData[IllegalData](data)
	case "resign":
		p.Data, err = decodeData[ResignData](data)
	case "end":
		p.Data, err = decodeData[EndData](data)
	default:
		err = fmt.Errorf("event %d: the kind %q is unknown", p.Seq, p.Kind)
	}
	return err
}

func decodeData[D any](text []byte) (data D, err error) {
	err = json.Unmarshal(text, &data)
	return data, err
}

// Stored returns the stored event that Publish published as p. The public event of an
// ended game does not contain the seed and its proof, so they are parameters.
func (p *PublicEvent) Stored(proof Proof) (Event, error) {
	seat := 0
	if p.Seat != nil {
		seat = *p.Seat
	}
	switch data := p.Data.(type) {
	case BoardData:
		return BoardLaid{data}, nil
	case RollData:
		return DiceRolled{seat, data}, nil
	case ActionData:
		return ActionPlayed{seat, data}, nil
	case StealData:
		return CardStolen{seat, data}, nil
	case TradeData:
		return TradeExecuted{data}, nil
	case AwardData:
		return AwardMoved{data}, nil
	case TimeoutData:
		return DecisionTimedOut{Seat: seat, TimeoutData: data}, nil
	case IllegalData:
		return AnswerRejected{seat, data}, nil
	case ResignData:
		return SeatResigned{seat, data}, nil
	case EndData:
		return GameEnded{EndData: data, Seed: SeedOf(proof.ServerSeed, proof.Nonces, proof.Beacon), Proof: proof}, nil
	}
	return nil, fmt.Errorf("event %d (%s) has no data", p.Seq, p.Kind)
}

// HasSeat specifies whether the events of a public kind name a seat.
type HasSeat int

// MaySeat is for award events, which name the new holder, if any.
const (
	NoSeat HasSeat = iota
	MaySeat
	OneSeat
)

// PublicKind describes one kind of public event.
type PublicKind struct {
	Kind  string
	About string
	Data  any // the zero value of its data
	Seat  HasSeat
}

// PublicKinds lists the kinds that Publish returns. Schemas and tests are built
// from it.
var PublicKinds = []PublicKind{
	{"board", "The board of the match.", BoardData{}, NoSeat},
	{"roll", "A dice roll.", RollData{}, OneSeat},
	{"action", "An action exactly as the bot sent it, including table talk, or the default that was played.", ActionData{}, OneSeat},
	{"steal", "The seat robbed the victim; the card is not recorded.", StealData{}, OneSeat},
	{"trade", "An executed trade between seats.", TradeData{}, OneSeat},
	{"award", "An award changed hands; the seat is the new holder.", AwardData{}, MaySeat},
	{"timeout", "No usable answer arrived in time; the default follows.", TimeoutData{}, OneSeat},
	{"illegal", "The answer broke the rules; the default follows.", IllegalData{}, OneSeat},
	{"resign", "The seat resigned after its third strike.", ResignData{}, OneSeat},
	{"end", "The game ended.", EndData{}, NoSeat},
}

// KindOf returns the public kind of an event. The kind is "" if the event is not
// public.
func KindOf(e Event) string {
	switch e.(type) {
	case BoardLaid:
		return "board"
	case DiceRolled:
		return "roll"
	case ActionPlayed:
		return "action"
	case CardStolen:
		return "steal"
	case TradeExecuted:
		return "trade"
	case AwardMoved:
		return "award"
	case DecisionTimedOut:
		return "timeout"
	case AnswerRejected:
		return "illegal"
	case SeatResigned:
		return "resign"
	case GameEnded:
		return "end"
	default:
		return ""
	}
}

// Publish returns the public kind, seat and data of an event. The kind is "" if
// the event is not public. A caller that needs only the kind uses KindOf, which copies
// nothing.
func Publish(e Event) (kind string, seat *int, data any) {
	kind = KindOf(e)
	switch e := e.(type) {
	case BoardLaid:
		return kind, nil, e.BoardData
	case DiceRolled:
		return kind, &e.Seat, e.RollData
	case ActionPlayed:
		return kind, &e.Seat, e.ActionData
	case CardStolen:
		return kind, &e.Seat, e.StealData
	case TradeExecuted:
		return kind, &e.From, e.TradeData
	case AwardMoved:
		return kind, e.To, e.AwardData
	case DecisionTimedOut:
		return kind, &e.Seat, e.TimeoutData
	case AnswerRejected:
		return kind, &e.Seat, e.IllegalData
	case SeatResigned:
		return kind, &e.Seat, e.ResignData
	case GameEnded:
		return kind, nil, e.EndData
	default:
		return "", nil, nil
	}
}
