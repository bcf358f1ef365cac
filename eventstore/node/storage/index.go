package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
)

// Index maps the revisions of streams to positions in the log. The log has one
// for its own streams, and the node derives another one for $ce- and $et-
// streams.
type Index struct{ db *pebble.DB }

// NewIndex returns the index in a Pebble store.
func NewIndex(db *pebble.DB) Index { return Index{db} }

// Value returns a copy of the value of a key, or nil if the key does not exist.
func (x Index) Value(key []byte) ([]byte, error) {
	value, closer, err := x.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, value...), closer.Close()
}

// LastEntry returns the last revision of a stream, with its position, up to the
// position limit. It returns revision -1 if there is no entry.
func (x Index) LastEntry(stream string, limit uint64) (revision int64, position uint64, err error) {
	entries, err := x.Entries(stream, 0, record.TombstoneRevision, limit)
	if err != nil {
		return 0, 0, err
	}
	defer entries.CloseInto(&err)
	if !entries.Last() {
		return -1, 0, nil
	}
	at, position := entries.Entry()
	return int64(at), position, nil
}

// Entries iterates over a stream's entries from one revision to another, both
// inclusive, up to the position limit.
func (x Index) Entries(stream string, from, to, limit uint64) (*Entries, error) {
	it, err := x.db.NewIter(&pebble.IterOptions{LowerBound: StreamKey(stream, from), UpperBound: StreamKey(stream, to+1)})
	if err != nil {
		return nil, fmt.Errorf("index of %s: %w", stream, err)
	}
	return &Entries{it: it, limit: limit}, nil
}

// Entries is an iterator over a stream's revisions and positions. Positions
// grow with revisions, so all entries beyond the limit are at the end.
type Entries struct {
	it    *pebble.Iterator
	limit uint64
	err   error
}

// First moves to the first entry; false means that there is none within the limit.
func (e *Entries) First() bool { return e.it.First() && e.inLimit() }

// Next moves to the next entry.
func (e *Entries) Next() bool { return e.it.Next() && e.inLimit() }

// Prev moves to the previous entry.
func (e *Entries) Prev() bool { return e.it.Prev() }

// Last moves to the last entry within the limit.
func (e *Entries) Last() bool {
	for ok := e.it.Last(); ok; ok = e.it.Prev() {
		if e.inLimit() {
			return true
		}
	}
	return false
}

func (e *Entries) inLimit() bool {
	_, position := e.Entry()
	return position <= e.limit
}

// Entry returns the revision and position under the iterator.
func (e *Entries) Entry() (revision, position uint64) {
	value := e.it.Value()
	if len(value) != indexLen {
		e.err = badEntry(value)
		return 0, 0
	}
	return revisionOfKey(e.it.Key()), binary.BigEndian.Uint64(value)
}

func badEntry(value []byte) error {
	return fmt.Errorf("%w: an index entry has %d bytes", record.ErrDamaged, len(value))
}

// CloseInto ends the iteration and joins its errors to err.
func (e *Entries) CloseInto(err *error) { *err = errors.Join(*err, e.err, e.it.Close()) }
