package eventstore

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Typed is a domain event: it names itself, for ever.
type Typed interface{ EventType() string }

// SchemaVersion is written into the metadata of every event.
const SchemaVersion = 1

// Metadata is stored beside every event.
type Metadata struct {
	Schema      int       `json:"schema"`
	At          time.Time `json:"at"`                     // when it occurred, by the writer's clock; UTC, milliseconds
	PlayedMs    *int64    `json:"playedMs,omitempty"`     // match events: time played so far
	Correlation string    `json:"$correlationId"`         // the match or the request
	Causation   string    `json:"$causationId,omitempty"` // the event or command that led here
}

// Encode makes an event to append, with a new id.
func Encode(e Typed, m Metadata) (Event, error) {
	m.Schema = SchemaVersion
	m.At = m.At.UTC().Truncate(time.Millisecond)
	data, err := json.Marshal(e)
	if err != nil {
		return Event{}, fmt.Errorf("encode %s: %w", e.EventType(), err)
	}
	meta, err := json.Marshal(m)
	if err != nil {
		return Event{}, fmt.Errorf("encode metadata of %s: %w", e.EventType(), err)
	}
	return Event{ID: uuid.New(), Type: e.EventType(), Data: data, Metadata: meta}, nil
}

// EncodeAll encodes events that share their metadata.
func EncodeAll[E Typed](events []E, m Metadata) ([]Event, error) {
	encoded := make([]Event, len(events))
	for i, e := range events {
		var err error
		if encoded[i], err = Encode(e, m); err != nil {
			return nil, err
		}
	}
	return encoded, nil
}

// DecodeMetadata reads the metadata of a stored event.
func DecodeMetadata(r Recorded) (Metadata, error) {
	var m Metadata
	if err := json.Unmarshal(r.Metadata, &m); err != nil {
		return Metadata{}, fmt.Errorf("metadata of %s@%d: %w", r.Stream, r.Revision, err)
	}
	if m.Schema < 1 || m.Schema > SchemaVersion {
		return Metadata{}, fmt.Errorf("%s@%d has schema version %d: this program reads 1 to %d", r.Stream, r.Revision, m.Schema, SchemaVersion)
	}
	return m, nil
}
