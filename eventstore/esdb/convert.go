package esdb

import (
	"math"
	"strings"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

func revision(expected eventstore.Expected) es.ExpectedRevision {
	switch expected {
	case eventstore.NoStream:
		return es.NoStream{}
	case eventstore.Any:
		return es.Any{}
	case eventstore.Exists:
		return es.StreamExists{}
	}
	return es.Revision(uint64(expected))
}

func proposed(events []eventstore.Event) []es.EventData {
	all := make([]es.EventData, len(events))
	for i, e := range events {
		all[i] = es.EventData{
			EventID:     e.ID,
			EventType:   e.Type,
			ContentType: es.ContentTypeJson,
			Data:        e.Data,
			Metadata:    e.Metadata,
		}
	}
	return all
}

func recorded(e *es.RecordedEvent) eventstore.Recorded {
	return eventstore.Recorded{
		Event: eventstore.Event{
			ID:       e.EventID,
			Type:     e.EventType,
			Data:     e.Data,
			Metadata: e.UserMetadata,
		},
		Stream:   eventstore.StreamID(e.StreamID),
		Revision: eventstore.Revision(e.EventNumber),
		Position: eventstore.Position(e.Position.Commit),
		Created:  e.CreatedDate,
	}
}

func metadata(m eventstore.StreamMetadata) ([]byte, error) {
	var all es.StreamMetadata
	if m.MaxCount > 0 {
		all.SetMaxCount(m.MaxCount)
	}
	if m.MaxAge > 0 {
		all.SetMaxAge(m.MaxAge)
	}
	return all.ToJson()
}

func system(eventType string) bool { return strings.HasPrefix(eventType, "$") }

func direction(d eventstore.Direction) es.Direction {
	if d == eventstore.Backwards {
		return es.Backwards
	}
	return es.Forwards
}

// streamPosition returns where a read of a stream begins. The server stores
// revisions as int64, so streamPosition replaces larger values.
func streamPosition(r eventstore.Revision, d eventstore.Direction) es.StreamPosition {
	if r < math.MaxInt64 {
		return es.Revision(uint64(r))
	}
	if d == eventstore.Backwards {
		return es.End{}
	}
	return es.Revision(math.MaxInt64 - 1)
}

// allPosition returns where a read of $all, or a subscription, begins.
func allPosition(p eventstore.Position) es.AllPosition {
	switch p {
	case 0:
		return es.Start{}
	case eventstore.EndPosition:
		return es.End{}
	}
	return es.Position{Commit: uint64(p), Prepare: uint64(p)}
}
