package eventstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// MaxAppendBytes is the maximum size of one append, as counted by AppendBytes.
const MaxAppendBytes = 1 << 20

// AppendBytes returns the size of an append as EventStoreDB counts it: only the data
// counts. A log limits metadata only by the size of a message.
func AppendBytes(events []Event) int {
	n := 0
	for _, e := range events {
		n += len(e.Data)
	}
	return n
}

// Bytes returns roughly how much memory the event uses: its data, its metadata, and
// twice its type.
func (e Event) Bytes() int { return len(e.Data) + len(e.Metadata) + 2*len(e.Type) }

// CheckAppend returns an error for an append that no log accepts, so that an
// implementation does not have to send it. It rejects an append without events,
// a stream without a name, an event without a type or an id, and an invalid
// expected revision. It returns ErrTooLarge if the append is larger than
// MaxAppendBytes.
func CheckAppend(id StreamID, expected Expected, events []Event) error {
	if err := CheckStream(id, expected); err != nil {
		return err
	}
	if len(events) == 0 {
		return fmt.Errorf("append to %s: no events", id)
	}
	for i, e := range events {
		if e.ID == uuid.Nil {
			return fmt.Errorf("append to %s: event %d has no id", id, i)
		}
		if e.Type == "" {
			return fmt.Errorf("append to %s: event %d has no type", id, i)
		}
	}
	if n := AppendBytes(events); n > MaxAppendBytes {
		return fmt.Errorf("append to %s: %w: %d of %d bytes", id, ErrTooLarge, n, MaxAppendBytes)
	}
	return nil
}

// CheckStream returns an error for a stream without a name and for an invalid
// expected revision.
func CheckStream(id StreamID, expected Expected) error {
	if id == "" {
		return errors.New("the stream has no name")
	}
	if expected < 0 && expected != NoStream && expected != Any && expected != Exists {
		return fmt.Errorf("%s: expected revision %d is invalid", id, expected)
	}
	return nil
}

// Check returns an error if the age is negative or not in whole seconds.
func (m StreamMetadata) Check() error {
	if m.MaxAge < 0 || m.MaxAge%time.Second != 0 {
		return fmt.Errorf("stream metadata: the age %s must be 0 or a positive number of whole seconds", m.MaxAge)
	}
	return nil
}
