package node

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// index maps the revisions of streams to positions in the log. The log has one
// for its own streams, and the node derives another one for $ce- and $et-
// streams.
type index struct{ db *pebble.DB }

func newIndex(db *pebble.DB) index { return index{db} }

// value returns a copy of the value of a key, or nil if the key does not exist.
func (x index) value(key []byte) ([]byte, error) {
	value, closer, err := x.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, value...), closer.Close()
}

// lastEntry returns the last revision of a stream, with its position, up to the
// position limit. It returns revision -1 if there is no entry.
func (x index) lastEntry(stream string, limit uint64) (revision int64, position uint64, err error) {
	entries, err := x.entries(stream, 0, tombstoneRevision, limit)
	if err != nil {
		return 0, 0, err
	}
	defer entries.closeInto(&err)
	if !entries.last() {
		return -1, 0, nil
	}
	at, position := entries.entry()
	return int64(at), position, nil
}

// entries iterates over a stream's entries from one revision to another, both
// inclusive, up to the position limit.
func (x index) entries(stream string, from, to, limit uint64) (*entries, error) {
	it, err := x.db.NewIter(&pebble.IterOptions{LowerBound: streamKey(stream, from), UpperBound: streamKey(stream, to+1)})
	if err != nil {
		return nil, fmt.Errorf("index of %s: %w", stream, err)
	}
	return &entries{it: it, limit: limit}, nil
}

// entries is an iterator over a stream's revisions and positions. Positions
// grow with revisions, so all entries beyond the limit are at the end.
type entries struct {
	it    *pebble.Iterator
	limit uint64
	err   error
}

func (e *entries) first() bool { return e.it.First() && e.inLimit() }
func (e *entries) next() bool  { return e.it.Next() && e.inLimit() }
func (e *entries) prev() bool  { return e.it.Prev() }

func (e *entries) last() bool {
	for ok := e.it.Last(); ok; ok = e.it.Prev() {
		if e.inLimit() {
			return true
		}
	}
	return false
}

func (e *entries) inLimit() bool {
	_, position := e.entry()
	return position <= e.limit
}

// entry returns the revision and position under the iterator.
func (e *entries) entry() (revision, position uint64) {
	value := e.it.Value()
	if len(value) != indexLen {
		e.err = badEntry(value)
		return 0, 0
	}
	return revisionOfKey(e.it.Key()), binary.BigEndian.Uint64(value)
}

func badEntry(value []byte) error {
	return fmt.Errorf("%w: an index entry has %d bytes", errDamaged, len(value))
}

// closeInto ends the iteration and joins its errors to err.
func (e *entries) closeInto(err *error) { *err = errors.Join(*err, e.err, e.it.Close()) }
