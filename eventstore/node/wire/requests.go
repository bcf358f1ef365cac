package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/google/uuid"

	"hexarena/eventstore/node/record"
)

// EventID reads an event's id in either of the protocol's two forms.
func EventID(m *shared.UUID) (uuid.UUID, error) {
	id := uuid.Nil
	switch value := m.GetValue().(type) {
	case *shared.UUID_Structured_:
		binary.BigEndian.PutUint64(id[:8], uint64(value.Structured.GetMostSignificantBits()))
		binary.BigEndian.PutUint64(id[8:], uint64(value.Structured.GetLeastSignificantBits()))
	case *shared.UUID_String_:
		parsed, err := uuid.Parse(value.String_)
		if err != nil {
			return uuid.Nil, Invalid("an event's id is not a UUID: %q", value.String_)
		}
		id = parsed
	}
	if id == uuid.Nil {
		return uuid.Nil, Invalid("an event's id is empty")
	}
	return id, nil
}

// StructuredUUID returns an id in the protocol's form that consists of two
// integers.
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
		return "", Invalid("the stream's name has %d bytes, but the limit is %d", len(name), record.MaxStreamName)
	case !utf8.ValidString(name):
		return "", Invalid("the stream's name is not UTF-8: %q", name)
	case name == "$all":
		return "", Invalid("$all is not a stream; use the calls for $all")
	}
	return name, nil
}

// Start is the start of a read or a subscription. The field At is the revision or
// position of a FromExactly start. The field Prepare is the prepare position of a start
// in $all. Only subscriptions use it.
type Start struct {
	Kind        startKind
	At, Prepare uint64
}

type startKind int

// These are the kinds of starts.
const (
	FromStart startKind = iota
	FromEnd
	FromExactly
)

// ReadStart reads a start from a request's options. If the options ask for neither
// the start nor the end, the parameter at is the revision or position to start
// from.
func ReadStart(options interface {
	GetStart() *shared.Empty
	GetEnd() *shared.Empty
}, at, prepare uint64) Start {
	switch {
	case options.GetStart() != nil:
		return Start{Kind: FromStart}
	case options.GetEnd() != nil:
		return Start{Kind: FromEnd}
	}
	return ExactStart(at, prepare)
}

// ExactStart returns a start at a given revision or position. Some clients send
// the highest number to ask for the end.
func ExactStart(at, prepare uint64) Start {
	if at == math.MaxUint64 {
		return Start{Kind: FromEnd}
	}
	return Start{Kind: FromExactly, At: at, Prepare: prepare}
}
