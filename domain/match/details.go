package match

import "hexarena/domain/event"

// DetailsPrefix begins the name of every details stream. The prefix differs from
// StreamPrefix, so copies for analysts do not contain these streams
// (docs/adr/0045-details-of-failures-are-private.md).
const DetailsPrefix = "details-"

// DetailsStream names the details stream of a match.
func DetailsStream(matchID string) string { return DetailsPrefix + matchID }

// TimeoutExplained says why a decision timed out. The timeout itself is in the
// match's stream.
type TimeoutExplained struct {
	Seat     int `json:"seat"`
	Decision int `json:"decision"`
	Fault
}

// LateAnswerReceived holds the first answer to a decision that arrived after the
// deadline.
type LateAnswerReceived struct {
	Seat     int `json:"seat"`
	Decision int `json:"decision"`
	LateAnswer
}

// LateAnswer is an answer that arrived after its deadline.
type LateAnswer struct {
	LateMs int64  `json:"lateMs"`
	Answer string `json:"answer"` // the raw frame, cut off as in DecisionTimedOut
}

// NewLateAnswer returns the event for a frame that answers a decision late.
func NewLateAnswer(seat, decision int, frame []byte, lateMs int64) LateAnswerReceived {
	return LateAnswerReceived{Seat: seat, Decision: decision, LateAnswer: LateAnswer{LateMs: lateMs, Answer: stored(frame)}}
}

// EventType implements Event.
func (TimeoutExplained) EventType() string { return "TimeoutExplained" }

// EventType implements Event.
func (LateAnswerReceived) EventType() string { return "LateAnswerReceived" }

// DecodeDetail reads a stored event of a details stream. An unknown type is an error.
func DecodeDetail(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "TimeoutExplained":
		return event.Decode[TimeoutExplained](data)
	case "LateAnswerReceived":
		return event.Decode[LateAnswerReceived](data)
	default:
		return nil, event.UnknownType(eventType, "a stream of details")
	}
}

// Details holds the details of a match by decision.
type Details struct {
	Faults map[int]Fault
	Late   map[int]LateAnswer
}

// NewDetails returns Details without any event.
func NewDetails() Details { return Details{map[int]Fault{}, map[int]LateAnswer{}} }

// Evolve folds an event into d. If a decision has several events of the same type,
// only the first one counts.
func (d Details) Evolve(e Event) {
	switch e := e.(type) {
	case TimeoutExplained:
		if _, ok := d.Faults[e.Decision]; !ok {
			d.Faults[e.Decision] = e.Fault
		}
	case LateAnswerReceived:
		if _, ok := d.Late[e.Decision]; !ok {
			d.Late[e.Decision] = e.LateAnswer
		}
	}
}

// FaultOf returns the fault of a decision, or nil if it is unknown.
func (d Details) FaultOf(decision int) *Fault {
	if answer, ok := d.Late[decision]; ok {
		return late(answer.LateMs)
	}
	if f, ok := d.Faults[decision]; ok {
		return &f
	}
	return nil
}

// LateAnswerTo returns the late answer to a decision, or nil if none arrived.
func (d Details) LateAnswerTo(decision int) *LateAnswer {
	if answer, ok := d.Late[decision]; ok {
		return &answer
	}
	return nil
}
