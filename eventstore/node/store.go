package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// store is the log on disk. Positions and revisions that it is asked for may
// not be synced yet: callers bound what they show by what is.
type store struct {
	dir       string
	fs        *disk
	db        *pebble.DB
	lock      io.Closer   // of the folder; nil where the caller has it
	scavenged atomic.Bool // ever
}

// value is a copy of what a key holds, nil if nothing.
func (s *store) value(key []byte) ([]byte, error) {
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, value...), closer.Close()
}

// at reads the record at a position; ok is false where there is none.
func (s *store) at(position uint64) (r record, ok bool, err error) {
	value, closer, err := s.db.Get(logKey(position))
	if errors.Is(err, pebble.ErrNotFound) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, fmt.Errorf("record at %d: %w", position, err)
	}
	r, err = decodeRecord(position, value)
	return r, err == nil, errors.Join(err, closer.Close())
}

// event reads a record that the stream index named; ok is false where it was
// scavenged since.
func (s *store) event(stream string, revision, position uint64) (r record, ok bool, err error) {
	r, ok, err = s.at(position)
	switch {
	case err != nil:
		return record{}, false, err
	case !ok:
		return record{}, false, s.missing(stream, revision, position)
	case r.stream != stream || r.revision != revision:
		return record{}, false, damaged(position, fmt.Sprintf("it is not %s@%d", stream, revision))
	}
	return r, true, nil
}

// find reads the event at a revision of a stream, if it is there and not
// behind limit.
func (s *store) find(stream string, revision, limit uint64) (r record, ok bool, err error) {
	value, err := s.value(streamKey(stream, revision))
	if err != nil || value == nil {
		return record{}, false, err
	}
	if len(value) != indexLen {
		return record{}, false, badEntry(value)
	}
	position := binary.BigEndian.Uint64(value)
	if position > limit {
		return record{}, false, nil
	}
	return s.event(stream, revision, position)
}

// last is the revision and position of a stream's last event that is not
// behind limit; a revision of -1 if there is none. The event itself may have
// been scavenged: a stream goes on where it was.
func (s *store) last(stream string, limit uint64) (revision int64, position uint64, err error) {
	revision, position, err = s.lastEntry(stream, limit)
	if err != nil || revision >= 0 {
		return revision, position, err
	}
	c, ok, err := s.cut(stream)
	if err != nil || !ok {
		return -1, 0, err
	}
	return int64(c.revision), c.position, nil
}

func (s *store) lastEntry(stream string, limit uint64) (revision int64, position uint64, err error) {
	entries, err := s.index(stream, 0, tombstoneRevision, limit)
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

// lastRecord is the log's last record, at position 0 if the log is empty.
func (s *store) lastRecord() (r record, err error) {
	it, err := s.log(0, ^uint64(0))
	if err != nil {
		return record{}, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.Last() {
		return record{}, it.Error()
	}
	return recordUnder(it)
}

// latest are the log's last n records, oldest first, without their contents.
func (s *store) latest(n int) (latest []record, err error) {
	it, err := s.log(0, ^uint64(0))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.Last(); ok && len(latest) < n; ok = it.Prev() {
		r, err := recordUnder(it)
		if err != nil {
			return nil, err
		}
		latest = append(latest, record{position: r.position, revision: r.revision, id: r.id, stream: strings.Clone(r.stream)})
	}
	slices.Reverse(latest)
	return latest, nil
}

// log iterates over the log from one position to another, both inclusive.
func (s *store) log(from, to uint64) (*pebble.Iterator, error) {
	upper := afterLog
	if to < ^uint64(0) {
		upper = logKey(to + 1)
	}
	return s.db.NewIter(&pebble.IterOptions{LowerBound: logKey(from), UpperBound: upper})
}

func recordUnder(it *pebble.Iterator) (record, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return record{}, err
	}
	return decodeRecord(positionOfKey(it.Key()), value)
}

// index iterates over a stream's entries from one revision to another, both
// inclusive, leaving out what is behind limit.
func (s *store) index(stream string, from, to, limit uint64) (*entries, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: streamKey(stream, from), UpperBound: streamKey(stream, to+1)})
	if err != nil {
		return nil, fmt.Errorf("index of %s: %w", stream, err)
	}
	return &entries{it: it, limit: limit}, nil
}

// entries are a stream's revisions and positions. What is behind the limit is
// always at the end, since positions grow with revisions.
type entries struct {
	it    *pebble.Iterator
	limit uint64
	err   error
}

func (e *entries) first() bool { return e.it.First() && e.within() }
func (e *entries) next() bool  { return e.it.Next() && e.within() }
func (e *entries) prev() bool  { return e.it.Prev() }

func (e *entries) last() bool {
	for ok := e.it.Last(); ok; ok = e.it.Prev() {
		if e.within() {
			return true
		}
	}
	return false
}

func (e *entries) within() bool {
	_, position := e.entry()
	return position <= e.limit
}

// entry is the revision and position under the iterator.
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

// closeInto ends the iteration and joins whatever failed in it to err.
func (e *entries) closeInto(err *error) { *err = errors.Join(*err, e.err, e.it.Close()) }
