package arena

import (
	"errors"
	"strings"
	"time"

	"hexarena/domain/event"
)

// DrainStarted stops the seating of tables. Running matches continue until they end.
type DrainStarted struct {
	Reason string `json:"reason"`
}

// DrainEnded starts the seating of tables again.
type DrainEnded struct {
	Reason string `json:"reason"`
}

// EventType implements Event.
func (DrainStarted) EventType() string { return "DrainStarted" }

// EventType implements Event.
func (DrainEnded) EventType() string { return "DrainEnded" }

// DecodeOperations reads a stored event of arena-operations. An unknown type
// is an error.
func DecodeOperations(eventType string, data []byte) (Event, error) {
	switch eventType {
	case "DrainStarted":
		return event.Decode[DrainStarted](data)
	case "DrainEnded":
		return event.Decode[DrainEnded](data)
	default:
		return nil, event.UnknownType(eventType, OperationsStream)
	}
}

// Operations is the state that results from the operators' orders.
type Operations struct {
	Draining bool
	Reason   string    // the reason for the last change
	Since    time.Time // the time of the last change
}

// EvolveOperations returns o after e. It never rejects an event.
func EvolveOperations(o Operations, e Event, at time.Time) Operations {
	switch e := e.(type) {
	case DrainStarted:
		return Operations{Draining: true, Reason: e.Reason, Since: at}
	case DrainEnded:
		return Operations{Draining: false, Reason: e.Reason, Since: at}
	}
	return o
}

// ErrNoReason rejects an order without a reason.
var ErrNoReason = errors.New("an order needs a reason")

// StartDrain orders a drain. It returns no event if a drain is already in
// progress.
func (o Operations) StartDrain(reason string) ([]Event, error) {
	return order(o.Draining, reason, DrainStarted{Reason: reason})
}

// EndDrain ends a drain. It returns no event if no drain is in progress.
func (o Operations) EndDrain(reason string) ([]Event, error) {
	return order(!o.Draining, reason, DrainEnded{Reason: reason})
}

func order(done bool, reason string, e Event) ([]Event, error) {
	if strings.TrimSpace(reason) == "" {
		return nil, ErrNoReason
	}
	if done {
		return nil, nil
	}
	return []Event{e}, nil
}
