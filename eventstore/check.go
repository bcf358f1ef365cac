package eventstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// MaxAppendBytes is the most that one append takes, counted by AppendBytes.
const MaxAppendBytes = 1 << 20

// AppendBytes is the size of an append as the log counts it: data, metadata
// and each type's name in two bytes a character.
func AppendBytes(events []Event) int {
	n := 0
	for _, e := range events {
		n += len(e.Data) + len(e.Metadata) + 2*len(e.Type)
	}
	return n
}

// CheckAppend refuses what no log takes, before anything is sent: nothing to
// append, a stream or an event without a name, an event without an id, an
// expectation that means nothing, and, with ErrTooLarge, too much at once.
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

// CheckStream refuses a stream without a name and an expectation that means
// nothing.
func CheckStream(id StreamID, expected Expected) error {
	if id == "" {
		return errors.New("stream without a name")
	}
	if expected < 0 && expected != NoStream && expected != Any && expected != Exists {
		return fmt.Errorf("%s: expected revision %d means nothing", id, expected)
	}
	return nil
}

// Check refuses an age that is negative or not in whole seconds.
func (m StreamMetadata) Check() error {
	if m.MaxAge < 0 || m.MaxAge%time.Second != 0 {
		return fmt.Errorf("stream metadata: an age of %s is not in whole seconds", m.MaxAge)
	}
	return nil
}
