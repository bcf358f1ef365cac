package eventstore

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Typed is a domain event. EventType returns the name under which the log
// stores the event, so this name never changes.
type Typed interface{ EventType() string }

// SchemaVersion is the version in the metadata of every event. Increase it when the
// metadata or the encoding rules change in a way that an older program would
// misread. An older program rejects events with a higher version. A new optional
// field does not need a new version.
const SchemaVersion = 1

// Metadata is stored with every event. EventStoreDB's own tools recognize the
// names that begin with $.
type Metadata struct {
	Schema      int       `json:"schema"`
	At          time.Time `json:"at"`                     // time of the event on the writer's clock; UTC, milliseconds
	PlayedMs    *int64    `json:"playedMs,omitempty"`     // playing time so far; only in match events
	Turns       int       `json:"turns,omitempty"`        // turns of the match; only with the event that ends it, like the next field
	OpeningPips []int     `json:"openingPips,omitempty"`  // for each seat, the pips of its two settlements of the setup
	UsedMs      []int64   `json:"usedMs,omitempty"`       // time that each seat has used so far; only in match events
	RedialMs    []int64   `json:"redialMs,omitempty"`     // time spent redialing each seat in the batch that this append settles; absent if no seat was redialed
	FailedDials []int     `json:"failedDials,omitempty"`  // for each seat, how many of its latest decisions in a row had no successful dial; absent if all are 0
	Correlation string    `json:"$correlationId"`         // id of the match or the request
	Causation   string    `json:"$causationId,omitempty"` // id of the event or command that caused this one
}

// Encode returns an event to append, with a new id. It sets the schema version
// and rounds the time down to milliseconds, so that DecodeMetadata returns the
// same time.
func Encode(e Typed, m Metadata) (Event, error) {
	encoded, err := EncodeAll([]Typed{e}, m)
	if err != nil {
		return Event{}, err
	}
	return encoded[0], nil
}

// EncodeAll encodes events with the same metadata. They share its memory.
func EncodeAll[E Typed](events []E, m Metadata) ([]Event, error) {
	m.Schema = SchemaVersion
	m.At = m.At.UTC().Truncate(time.Millisecond)
	meta, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	encoded := make([]Event, len(events))
	for i, e := range events {
		data, err := encode(e)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", e.EventType(), err)
		}
		encoded[i] = Event{ID: uuid.New(), Type: e.EventType(), Data: data, Metadata: meta}
	}
	return encoded, nil
}

// encode returns the JSON of an event. An event of a frequent type encodes itself, which
// is faster.
func encode(e Typed) ([]byte, error) {
	if fast, ok := e.(interface{ AppendJSON(b []byte) []byte }); ok {
		return fast.AppendJSON(nil), nil
	}
	return json.Marshal(e)
}

// DecodeMetadata returns the metadata of a stored event. An unknown schema
// version is an error.
func DecodeMetadata(r Recorded) (Metadata, error) {
	m, ok := parseMetadata(r.Metadata)
	if !ok {
		m = Metadata{}
		if err := json.Unmarshal(r.Metadata, &m); err != nil {
			return Metadata{}, fmt.Errorf("metadata of %s@%d: %w", r.Stream, r.Revision, err)
		}
	}
	if m.Schema < 1 || m.Schema > SchemaVersion {
		return Metadata{}, fmt.Errorf("%s@%d has schema version %d, but this program reads 1 to %d: use a newer version of the program", r.Stream, r.Revision, m.Schema, SchemaVersion)
	}
	return m, nil
}
