package writer

import "github.com/google/uuid"

// Expectations other than an exact revision.
const (
	NoStream     = -1
	Any          = -2
	StreamExists = -4
)

// Request is one append or delete. The caller sets all fields except done.
type Request struct {
	Act      Act
	Stream   string
	Expected int64
	Events   []Proposed
	Slot     Slot
	done     chan Outcome
}

// Act is the kind of a request.
type Act int

// The kinds of requests.
const (
	Append Act = iota
	Delete
	Tombstone
)

// Proposed is an event to append. The writer keeps its strings.
type Proposed struct {
	ID       uuid.UUID
	JSON     bool
	Type     string
	Data     string
	Metadata string
}

// Outcome is the answer to a request. The zero Verdict means that the request
// was stored.
type Outcome struct {
	Verdict  Verdict
	Current  int64  // the stream's last revision, -1 for no stream; not set for StreamDeleted
	Position uint64 // of the last event; 0 if it is unknown
}

// Verdict is the writer's decision.
type Verdict int

// The verdicts.
const (
	Stored Verdict = iota
	WrongVersion
	StreamDeleted
)
