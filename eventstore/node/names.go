package node

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/google/uuid"
)

func eventID(m *shared.UUID) (uuid.UUID, error) {
	id := uuid.Nil
	switch value := m.GetValue().(type) {
	case *shared.UUID_Structured_:
		binary.BigEndian.PutUint64(id[:8], uint64(value.Structured.GetMostSignificantBits()))
		binary.BigEndian.PutUint64(id[8:], uint64(value.Structured.GetLeastSignificantBits()))
	case *shared.UUID_String_:
		parsed, err := uuid.Parse(value.String_)
		if err != nil {
			return uuid.Nil, invalid("an event's id is no UUID: %q", value.String_)
		}
		id = parsed
	}
	if id == uuid.Nil {
		return uuid.Nil, invalid("an event's id is empty")
	}
	return id, nil
}

// streamName checks the name of a stream that is written or read.
func streamName(m *shared.StreamIdentifier) (string, error) {
	name := string(m.GetStreamName())
	switch {
	case name == "" || name == metaPrefix:
		return "", invalid("the stream's name is empty")
	case len(name) > maxStreamName:
		return "", invalid("the stream's name has %d bytes, more than %d", len(name), maxStreamName)
	case !utf8.ValidString(name):
		return "", invalid("the stream's name is not UTF-8: %q", name)
	case name == "$all":
		return "", invalid("$all is no stream of its own")
	}
	return name, nil
}
