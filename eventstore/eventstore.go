// Package eventstore is the log's port: streams of events appended at expected
// revisions, read and subscribed to. The implementations are memory (tests and
// simulation) and esdb (the official client, against a cluster or the embedded
// node); logtest holds the one suite that all of them pass. It knows no domain.
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

// StreamID names a stream. Only the package that owns a kind of stream builds
// or parses one.
type StreamID string

// Revision is an event's number in its stream, from 0.
type Revision uint64

// Position is an event's place in the whole log ($all): its commit position,
// strictly increasing, above 0.
type Position uint64

// End, as where to read backwards from, is behind the last event.
const (
	EndRevision Revision = math.MaxUint64
	EndPosition Position = math.MaxUint64
)

// Expected is what an append demands of its stream.
type Expected int64

// The expectations beside an exact revision.
const (
	NoStream Expected = -1
	Any      Expected = -2
	Exists   Expected = -4
)

// At demands that r is the revision of the stream's last event.
func At(r Revision) Expected { return Expected(r) }

// String says what is demanded: a revision, or "no stream", "any", "exists".
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

// Event is an event to append. Its ID is made once by the writer and reused in
// retries, so that a retry after a lost acknowledgement stores once.
type Event struct {
	ID       uuid.UUID
	Type     string
	Data     []byte // JSON
	Metadata []byte // JSON, see Metadata
}

// Recorded is an event as stored. Its Data and Metadata are shared with other
// readers: they are not to be modified.
type Recorded struct {
	Event
	Stream   StreamID
	Revision Revision
	Position Position
	Created  time.Time // the server's clock; the writer's is in Metadata.At
}

// Appended is where an append's last event stands. The position is 0 where
// the answer to a retry does not know it any more.
type Appended struct {
	Revision Revision
	Position Position
}

// Direction is which way to read.
type Direction bool

// The directions of reads.
const (
	Forwards  Direction = false
	Backwards Direction = true
)

// ReadOptions narrow a read. The zero value reads all, forwards.
type ReadOptions struct {
	Direction Direction
	Limit     int // 0: no limit
}

// Filter selects events of $all by how their stream's name begins, and by their
// exact type; what is empty selects all. A server looks at one of the two, the
// types where there are any; the other is looked at here. System events (types
// that begin with $) are never delivered.
type Filter struct {
	StreamPrefixes []string
	Types          []string
}

// Selects says whether a filter selects a stream's events of a type.
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

// String names what a filter selects, for people.
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
	Checkpoint Position // everything up to here was considered
	CaughtUp   bool     // from here on, what comes is live; may come again
}

// StreamMetadata is what the log may be told of a stream; zero values are unset.
type StreamMetadata struct {
	MaxCount uint64
	MaxAge   time.Duration // whole seconds
}

// Log is the log's port. Every method ends by its context's deadline, with
// ErrUnavailable where the log was away till then, and with the context's error
// in any case. Implementations are safe for concurrent use.
type Log interface {
	// Append stores all of the events or none. With an Expected that does not
	// fit it fails with *WrongVersionError; on a tombstoned stream with
	// ErrStreamDeleted; beyond MaxAppendBytes with ErrTooLarge; what CheckAppend
	// refuses is not sent. Any other error leaves open whether it was stored:
	// retry with the same event ids and the same Expected, which stores once.
	Append(ctx context.Context, id StreamID, expected Expected, events ...Event) (Appended, error)

	// Read yields a stream's events from a revision, inclusive; a stream that
	// does not exist is empty, one that is tombstoned yields ErrStreamDeleted.
	// It yields the error, and ends, if it fails part way: a short history is
	// never silent.
	Read(ctx context.Context, id StreamID, from Revision, opt ReadOptions) iter.Seq2[Recorded, error]

	// ReadAll yields the events of all streams from a position: inclusive
	// forwards, exclusive backwards; 0 is the start, EndPosition the end. Any
	// other position must be one that the log gave out: positions have gaps, and
	// one that is no event's is refused. System events are left out.
	ReadAll(ctx context.Context, from Position, opt ReadOptions) iter.Seq2[Recorded, error]

	// Subscribe yields the selected events after a position (0: all;
	// EndPosition: only what comes), what is stored and then what comes, across
	// outages, each once and in order. It ends with ctx (no error is yielded
	// then) or with an error that no retrying mends. A reader that is slow holds
	// up only itself. Positions of events and of checkpoints may both be kept
	// and subscribed from later.
	Subscribe(ctx context.Context, after Position, filter Filter) iter.Seq2[Message, error]

	// SetMetadata replaces a stream's metadata: reads of the stream no longer
	// yield what it expires, while ReadAll and Subscribe may.
	SetMetadata(ctx context.Context, id StreamID, m StreamMetadata) error

	// Tombstone deletes a stream for ever: its name is never used again. Its
	// errors are those of Append; a stream that does not exist can be
	// tombstoned with Any or NoStream.
	Tombstone(ctx context.Context, id StreamID, expected Expected) error
}

// The errors that callers tell apart.
var (
	ErrStreamDeleted = errors.New("stream is tombstoned")
	ErrTooLarge      = errors.New("append is larger than the log takes")
	// ErrUnavailable wraps what an absent or silent log causes: the outcome of
	// a write is unknown.
	ErrUnavailable = errors.New("the log is away")
)

// WrongVersionError says that a stream is not at the expected revision.
type WrongVersionError struct {
	Stream   StreamID
	Expected Expected
	Current  Expected // an exact revision, or NoStream
}

func (e *WrongVersionError) Error() string {
	return fmt.Sprintf("%s: expected revision %s, found %s", e.Stream, e.Expected, e.Current)
}

// IsWrongVersion says whether err is a *WrongVersionError.
func IsWrongVersion(err error) bool {
	var wrong *WrongVersionError
	return errors.As(err, &wrong)
}
