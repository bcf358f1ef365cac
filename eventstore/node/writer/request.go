package writer

import "github.com/google/uuid"

// What an append may expect beside an exact revision.
const (
	NoStream     = -1
	Any          = -2
	StreamExists = -4
)

// Request is one write: an append, or a delete of either kind.
type Request struct {
	Act      Act
	Stream   string
	Expected int64
	Events   []Proposed
	Slot     *Slot // nil for the node's own requests
	done     chan Outcome
}

type Act int

const (
	Append Act = iota
	Delete
	Tombstone
)

// Proposed is an event to append. The writer owns it.
type Proposed struct {
	ID       uuid.UUID
	JSON     bool
	Type     string
	Data     string
	Metadata string
}

// Outcome is how a request was answered. verdict tells which of the fields
// hold something.
type Outcome struct {
	Verdict  verdict
	Current  int64  // appended, deleted, wrongVersion: the stream's last revision, -1 for no stream
	Position uint64 // appended, deleted: 0 where there is none to tell
}

type verdict int

const (
	Stored verdict = iota
	WrongVersion
	StreamDeleted
)
