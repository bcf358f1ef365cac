package wire

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
)

// EventID reads an event's id, in either of its forms.
func EventID(m *shared.UUID) (uuid.UUID, error) {
	id := uuid.Nil
	switch value := m.GetValue().(type) {
	case *shared.UUID_Structured_:
		binary.BigEndian.PutUint64(id[:8], uint64(value.Structured.GetMostSignificantBits()))
		binary.BigEndian.PutUint64(id[8:], uint64(value.Structured.GetLeastSignificantBits()))
	case *shared.UUID_String_:
		parsed, err := uuid.Parse(value.String_)
		if err != nil {
			return uuid.Nil, Invalid("an event's id is no UUID: %q", value.String_)
		}
		id = parsed
	}
	if id == uuid.Nil {
		return uuid.Nil, Invalid("an event's id is empty")
	}
	return id, nil
}

// StructuredUUID returns an id as the protocol carries it in two integers.
func StructuredUUID(id uuid.UUID) *shared.UUID {
	most, least := UUIDBits(id)
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits: int64(most), LeastSignificantBits: int64(least),
	}}}
}

// StreamName reads and checks the name of a stream.
func StreamName(m *shared.StreamIdentifier) (string, error) {
	name := string(m.GetStreamName())
	switch {
	case name == "" || name == record.MetadataPrefix:
		return "", Invalid("the stream's name is empty")
	case len(name) > record.MaxStreamName:
		return "", Invalid("the stream's name has %d bytes, more than %d", len(name), record.MaxStreamName)
	case !utf8.ValidString(name):
		return "", Invalid("the stream's name is not UTF-8: %q", name)
	case name == "$all":
		return "", Invalid("$all is not a stream; use the calls for all streams")
	}
	return name, nil
}
