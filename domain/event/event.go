// Package event reads stored events. It knows nothing about any particular
// stream: each domain package lists its own events in its Decode function.
package event

import (
	"encoding/json"
	"fmt"
)

// Event is a fact of a stream. EventType returns the name of its type in the
// log. This name never changes.
type Event interface{ EventType() string }

// Decode reads the JSON of a stored event of type E.
func Decode[E Event](data []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("decode %s: %w", e.EventType(), err)
	}
	return e, nil
}

// UnknownType returns the error for an event type that a stream does not have.
// stream is a phrase such as "a match stream".
func UnknownType(eventType, stream string) error {
	return fmt.Errorf("unknown event type %q in %s", eventType, stream)
}
