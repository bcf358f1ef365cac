package node

import "github.com/google/uuid"

// What an append may expect beside an exact revision.
const (
	expectNoStream = -1
	expectAny      = -2
	expectExists   = -4
)

// request is one write: an append, or a delete of either kind.
type request struct {
	act      act
	stream   string
	expected int64
	events   []proposed
	slot     *slot // nil for the node's own requests
	done     chan outcome
}

type act int

const (
	actAppend act = iota
	actDelete
	actTombstone
)

// proposed is an event to append. The writer owns it.
type proposed struct {
	id       uuid.UUID
	json     bool
	kind     string
	data     string
	metadata string
}

// outcome is how a request was answered. verdict tells which of the fields
// hold something.
type outcome struct {
	verdict  verdict
	current  int64  // appended, deleted, wrongVersion: the stream's last revision, -1 for no stream
	position uint64 // appended, deleted: 0 where there is none to tell
}

type verdict int

const (
	stored verdict = iota
	wrongVersion
	streamDeleted
)
