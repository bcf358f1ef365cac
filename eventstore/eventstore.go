// Package eventstore defines the interface to the log, which contains streams of
// events. Callers append to streams at expected revisions, read them and subscribe
// to them. Start with [Log] for the operations, and with [Kind] for folding a
// stream into a state and making decisions from that state.
//
// The package memory implements the interface for tests and simulation. The package
// esdb implements it with the official client, for an EventStoreDB cluster or the
// embedded node. Both pass the test suite in the package conformance. This package
// knows nothing about any domain.
package eventstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// StreamID is the name of a stream. Only the package that owns a kind of stream
// builds or parses its names.
type StreamID string

// Revision is the number of an event in its stream. The first one is 0.
type Revision uint64

// Position is the commit position of an event in the whole log ($all). Positions
// are greater than 0, strictly increase, and have gaps.
type Position uint64

// EndRevision and EndPosition lie after the last event. Backward reads of the
// newest events start there.
const (
	EndRevision Revision = math.MaxUint64
	EndPosition Position = math.MaxUint64
)

// Expected is the state in which a stream must be for an append to succeed: an
// exact revision (see At), NoStream, Any or Exists.
type Expected int64

// These values of Expected are not revisions. EventStoreDB uses the same values.
const (
	NoStream Expected = -1
	Any      Expected = -2
	Exists   Expected = -4
)

// At requires that the last event of the stream has the revision r.
func At(r Revision) Expected { return Expected(r) }

// String returns the revision, or "no stream", "any" or "exists".
func (e Expected) String() string {
	switch e {
	case NoStream:
		return "no stream"
	case Any:
		return "any"
	case Exists:
		return "exists"
	}
	return strconv.FormatInt(int64(e), 10)
}

// Event is an event to append. The writer creates the ID once and uses the same
// ID in each retry, so a retry after a lost acknowledgement does not store the
// event twice.
type Event struct {
	ID       uuid.UUID
	Type     string
	Data     []byte // JSON
	Metadata []byte // JSON, see Metadata
}

// Recorded is a stored event. Readers share its Data and Metadata, so no reader
// may modify them.
type Recorded struct {
	Event
	Stream   StreamID
	Revision Revision
	Position Position
	Created  time.Time // time on the server's clock; Metadata.At uses the writer's clock
}

// Appended holds the location of the last event of an append. The position is 0 if
// the append was a retry and the server no longer has the position.
type Appended struct {
	Revision Revision
	Position Position
}

// Direction is the direction of a read.
type Direction bool

// The directions of a read.
const (
	Forwards  Direction = false
	Backwards Direction = true
)

// ReadOptions restrict a read. The zero value reads everything forwards.
type ReadOptions struct {
	Direction Direction
	Limit     int // 0: no limit
}

// Filter selects events of $all by prefixes of stream names and by exact types. An
// empty list selects all events. System events (types that begin with $) are never
// delivered. A server applies only one of the two lists, so implementations also
// check every event with Selects.
type Filter struct {
	StreamPrefixes []string
	Types          []string
}

// Selects reports whether the filter selects events of this stream and type.
func (f Filter) Selects(id StreamID, eventType string) bool {
	if len(f.Types) > 0 && !slices.Contains(f.Types, eventType) {
		return false
	}
	for _, prefix := range f.StreamPrefixes {
		if strings.HasPrefix(string(id), prefix) {
			return true
		}
	}
	return len(f.StreamPrefixes) == 0
}

// String returns the prefixes and types, or "all", for logs and metrics.
func (f Filter) String() string {
	parts := slices.Concat(f.StreamPrefixes, f.Types)
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, ",")
}

// Message is one item of a subscription: exactly one field is set.
type Message struct {
	Event      *Recorded
	Checkpoint Position // the subscription has examined all events up to this position
	CaughtUp   bool     // all stored events have been delivered; sent again after an outage
}

// StreamMetadata limits the events that reads of a stream yield. A zero field
// sets no limit.
type StreamMetadata struct {
	MaxCount uint64
	MaxAge   time.Duration // whole seconds
}

// Log is the interface to the log. Each method returns by its context's deadline.
// If the context ends before the call completes, the error wraps the context's
// error. If the log did not respond by the deadline, the error also wraps
// ErrUnavailable. Implementations are safe for concurrent use.
type Log interface {
	// Append stores all events or none. It fails with *WrongVersionError if the
	// stream is not in the expected state, and with ErrStreamDeleted if the stream
	// is tombstoned. It fails with ErrTooLarge if the events exceed MaxAppendBytes.
	// It rejects events that fail CheckAppend without sending them. After any other
	// error the outcome is unknown: retry with the same event ids and the same
	// Expected. The log recognizes such a retry and stores the events once.
	Append(ctx context.Context, id StreamID, expected Expected, events ...Event) (Appended, error)

	// Read yields the events of a stream, starting with the event at revision
	// from. A stream that does not exist yields nothing, and a tombstoned
	// stream yields ErrStreamDeleted. If a read fails part way, it yields the
	// error last, so that no caller mistakes a partial history for the whole
	// history.
	Read(ctx context.Context, id StreamID, from Revision, opt ReadOptions) iter.Seq2[Recorded, error]

	// ReadAll yields the events of all streams, starting at a position. A
	// forward read includes the event at that position, and a backward read
	// excludes it. 0 is the start, and EndPosition is the end. Any other
	// position must come from the log: positions have gaps, and a position
	// without an event is an error. System events are left out.
	ReadAll(ctx context.Context, from Position, opt ReadOptions) iter.Seq2[Recorded, error]

	// Subscribe yields the selected events after a position: first the stored ones,
	// then new ones as they are appended. From position 0 it yields all events, and
	// from EndPosition only new events. The subscription continues across outages
	// and yields each event once, in order. When ctx ends, the subscription ends
	// without an error. It ends with an error only if a retry cannot help, and with
	// ErrEventsLost if the log may no longer contain the events that it has yielded. A slow
	// subscriber delays only itself. A subscriber may save the position of an event
	// or a checkpoint, and subscribe from there later.
	Subscribe(ctx context.Context, after Position, filter Filter) iter.Seq2[Message, error]

	// SetMetadata replaces the metadata of a stream. Reads of the stream no
	// longer yield the events that the metadata hides. ReadAll and Subscribe
	// may still yield them.
	SetMetadata(ctx context.Context, id StreamID, m StreamMetadata) error

	// Tombstone deletes a stream forever: its name cannot be used again. It
	// fails with the errors of Append. With Any or NoStream it also tombstones
	// a stream that does not exist.
	Tombstone(ctx context.Context, id StreamID, expected Expected) error
}

// These are the errors that callers handle, besides *WrongVersionError.
var (
	ErrStreamDeleted = errors.New("the stream is tombstoned")
	ErrTooLarge      = errors.New("the append is larger than the log accepts")
	// ErrUnavailable means that the log did not respond in time. The outcome of
	// a write is then unknown: the log may have stored the write, or may store
	// it later.
	ErrUnavailable = errors.New("the log is unavailable")
	// ErrEventsLost means that the log has lost events that this process knew when
	// the call began: it had read them, or stored them with an acknowledgement. The
	// log stored nothing for this call, or the outcome is unknown. Fold again from an
	// event that the log still contains.
	ErrEventsLost = errors.New("the log has lost events")
)

// WrongVersionError is the error that an append returns if the stream is not at
// the expected revision.
type WrongVersionError struct {
	Stream   StreamID
	Expected Expected
	Current  Expected // an exact revision, or NoStream
}

func (e *WrongVersionError) Error() string {
	return fmt.Sprintf("%s: expected revision %s, found %s", e.Stream, e.Expected, e.Current)
}

// IsWrongVersion reports whether err wraps a *WrongVersionError.
func IsWrongVersion(err error) bool {
	var wrong *WrongVersionError
	return errors.As(err, &wrong)
}
