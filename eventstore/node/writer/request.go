package writer

import "github.com/google/uuid"

// These are the possible expectations other than an exact revision.
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

// Act is the action that a request asks for.
type Act int

// These are the kinds of requests.
const (
	Append Act = iota
	Delete
	Tombstone
)

// Proposed is an event to append. The writer keeps references to its strings.
type Proposed struct {
	ID       uuid.UUID
	JSON     bool
	Type     string
	Data     string
	Metadata string
}

// Outcome is the result of a request. The zero Verdict means that the request was
// stored.
type Outcome struct {
	Verdict  Verdict
	Current  int64  // the stream's last revision, or -1 if the stream does not exist; not set for StreamDeleted
	Position uint64 // position of the last event; 0 if it is unknown
}

// Verdict is the writer's decision.
type Verdict int

// These are the verdicts.
const (
	Stored Verdict = iota
	WrongVersion
	StreamDeleted
)
