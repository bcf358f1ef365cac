package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
)

// readIndex reads every entry of the index. It reports progress in bytes of the log,
// like readLog.
func (c *checker) readIndex() error {
	r := indexReader{checker: c, each: float64(c.Bytes) / float64(max(c.log.count, 1))}
	return c.each(stepIndex, []byte{streamPrefix}, afterStreams, c.Bytes, r.visit)
}

// indexReader is the state of reading the index.
type indexReader struct {
	*checker
	each   float64 // mean size of a record
	stream string
	begun  bool
	next   uint64 // revision
}

func (x *indexReader) visit(it *pebble.Iterator) uint64 {
	stream, ok := streamOfKey(it.Key())
	if !ok {
		x.damage("the index has the key %x", it.Key())
		return 0
	}
	value, err := it.ValueAndErr()
	if err == nil && len(value) != indexLen {
		err = badEntry(value)
	}
	revision := revisionOfKey(it.Key())
	if err != nil {
		x.damage("%s@%d: %v", stream, revision, err)
	} else {
		x.index.add(stream, revision, binary.BigEndian.Uint64(value))
	}
	x.follows(stream, revision)
	return uint64(x.each * float64(x.index.count))
}

// follows checks that a stream's revisions have no gaps. They begin with 0 or after
// the cut, and may end with a tombstone.
func (x *indexReader) follows(stream []byte, revision uint64) {
	if !x.begun || string(stream) != x.stream {
		x.begin(string(stream))
	}
	if revision == record.TombstoneRevision {
		x.Tombstones++
	} else if revision != x.next {
		x.damage("%s begins with, or goes on with, revision %d instead of %d", stream, revision, x.next)
	}
	x.next = revision + 1
}

func (x *indexReader) begin(stream string) {
	x.begun, x.stream, x.next = true, stream, 0
	if !record.IsMetadataStream(stream) {
		x.Streams++
	}
	cut, ok, err := x.store.cut(stream)
	if err != nil {
		x.damage("%v", err)
	}
	if ok {
		x.next = cut.first()
	}
}

// readCuts reads the cuts that scavenges have stored.
func (c *checker) readCuts() error {
	return c.each(stepIndex, []byte{cutPrefix}, afterAll, 0, func(it *pebble.Iterator) uint64 {
		c.Scavenged++
		var at cut
		value, err := it.ValueAndErr()
		if err == nil {
			err = checkedNumbers(it.Key(), value, &at.revision, &at.position)
		}
		if err == nil && (at.position > c.kept.Position || c.Format == formatWhole) {
			err = fmt.Errorf("%w: it was scavenged up to %d, which is behind the scavenge", record.ErrDamaged, at.position)
		}
		if err != nil {
			c.damage("%q: %v", it.Key()[min(nameAt, len(it.Key())):], err)
		}
		return c.Scavenged
	})
}

// compare finds the events in which the log and the index differ.
func (c *checker) compare() error {
	if c.log.count == c.index.count && c.log.sums == c.index.sums {
		return nil
	}
	err := c.each(stepCompare, []byte{logPrefix}, afterLog, 0, func(it *pebble.Iterator) uint64 {
		if r, err := recordUnder(it); err == nil {
			c.seek(&r)
		}
		return 0
	})
	return errors.Join(err, c.each(stepCompare, []byte{streamPrefix}, afterStreams, 0, func(it *pebble.Iterator) uint64 {
		c.seekRecord(it)
		return 0
	}))
}

// seek looks for the index entry of a record.
func (c *checker) seek(r *record.Record) {
	value, err := c.store.Value(StreamKey(r.Stream, r.Revision))
	switch {
	case err != nil:
		c.damage("%s@%d: %v", r.Stream, r.Revision, err)
	case value == nil:
		c.damage("record at %d is %s@%d, which the index does not have", r.Position, r.Stream, r.Revision)
	case len(value) == indexLen && binary.BigEndian.Uint64(value) != r.Position:
		c.damage("record at %d is %s@%d, for which the index has %d", r.Position, r.Stream, r.Revision, binary.BigEndian.Uint64(value))
	}
}

// seekRecord looks for the record of an index entry.
func (c *checker) seekRecord(it *pebble.Iterator) {
	stream, ok := streamOfKey(it.Key())
	if value := it.Value(); ok && len(value) == indexLen {
		if _, _, err := c.store.event(string(stream), revisionOfKey(it.Key()), binary.BigEndian.Uint64(value)); err != nil {
			c.damage("%v", err)
		}
	}
}

// readRest looks for keys that are not the log's.
func (c *checker) readRest() error {
	foreign := func(it *pebble.Iterator) uint64 {
		if key := string(it.Key()); key != string(formatKey) && key != string(endKey) {
			c.damage("the log holds the key %x, which is not its own", it.Key())
		}
		return 0
	}
	return errors.Join(c.each(stepIndex, nil, []byte{logPrefix}, 0, foreign), c.each(stepIndex, afterAll, nil, 0, foreign))
}
