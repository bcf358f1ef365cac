package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
)

// tally is a hash over the stream, revision and position of many events. It does
// not depend on their order. If the log and the index have the same tally, Check
// does not have to look up each event.
type tally struct {
	seeds [2]maphash.Seed
	count uint64
	sums  [2]uint64
}

func (t *tally) add(stream []byte, revision, position uint64) {
	var numbers [16]byte
	binary.BigEndian.PutUint64(numbers[:], revision)
	binary.BigEndian.PutUint64(numbers[8:], position)
	t.count++
	for i, seed := range t.seeds {
		var h maphash.Hash
		h.SetSeed(seed)
		_, _ = h.Write(numbers[:]) // never fails
		_, _ = h.Write(stream)
		t.sums[i] += h.Sum64()
	}
}

// reportEvery is the number of keys between two progress reports. The checker
// checks ctx at the same interval.
const reportEvery = 1024

// The method each() visits the keys from one key up to, but not including, another.
func (c *checker) each(step string, from, to []byte, total uint64, visit func(it *pebble.Iterator) (done uint64)) (err error) {
	it, err := c.store.DB.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	seen := 0
	for ok := it.First(); ok; ok = it.Next() {
		done := visit(it)
		if seen++; seen%reportEvery == 0 {
			c.progress.report(step, done, total)
			if c.ctx.Err() != nil {
				return c.ctx.Err()
			}
		}
	}
	c.progress.report(step, total, total)
	return nil
}

// readLog reads every record.
func (c *checker) readLog() error {
	total, err := c.lastPosition()
	if err != nil {
		return err
	}
	r := logReader{checker: c, next: 1, created: math.MinInt64}
	return c.each(stepRecords, []byte{logPrefix}, afterLog, total, r.visit)
}

func (c *checker) lastPosition() (position uint64, err error) {
	it, err := c.store.log(0, math.MaxUint64)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if it.Last() && len(it.Key()) == 1+indexLen {
		position = positionOfKey(it.Key())
	}
	return position, it.Error()
}

// logReader is the state of reading the log. The field next is the position at
// which the next record must begin, or 0 if it may begin anywhere. The field
// created is the earliest creation time that this record may have.
type logReader struct {
	*checker
	next    uint64
	created int64
}

func (l *logReader) visit(it *pebble.Iterator) uint64 {
	if len(it.Key()) != 1+indexLen {
		l.damage("the log has the malformed key %x", it.Key())
		return 0
	}
	position := positionOfKey(it.Key())
	r, err := recordUnder(it)
	if err != nil {
		l.damage("%v", err)
		l.next = 0
		return position
	}
	l.follows(&r)
	l.Events++
	l.Bytes += uint64(r.Size())
	l.log.add([]byte(r.Stream), r.Revision, position)
	if record.IsMetadataStream(r.Stream) && !record.IsMetadata(r.Data) {
		l.Unread++
	}
	return position
}

// The method follows() checks that a record begins right after the previous one, or after
// a gap that a scavenge may have left.
func (l *logReader) follows(r *record.Record) {
	switch {
	case r.Position == l.next, l.next == 0:
	case r.Position < l.next:
		l.damage("record at %d begins before the previous record ends at %d", r.Position, l.next)
	case r.Position > l.kept.Next:
		l.damage("records are missing from %d to %d", l.next, r.Position)
	}
	if r.Created < l.created {
		l.damage("record at %d is older than the previous record", r.Position)
	}
	l.next, l.created = r.Position+uint64(r.Size()), max(l.created, r.Created)
}

// readIndex reads every entry of the index. Like readLog, it reports its progress
// in bytes of the log.
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
		x.damage("the index has the malformed key %x", it.Key())
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

// The method follows() checks that a stream's revisions have no gaps. The revisions must
// begin with 0 or right after the cut, and may end with a tombstone.
func (x *indexReader) follows(stream []byte, revision uint64) {
	if !x.begun || string(stream) != x.stream {
		x.begin(string(stream))
	}
	if revision == record.TombstoneRevision {
		x.Tombstones++
	} else if revision != x.next {
		x.damage("%s begins or continues with revision %d instead of %d", stream, revision, x.next)
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

// readCuts reads the cut of every scavenged stream.
func (c *checker) readCuts() error {
	return c.each(stepIndex, []byte{cutPrefix}, afterAll, 0, func(it *pebble.Iterator) uint64 {
		c.Scavenged++
		var at cut
		value, err := it.ValueAndErr()
		if err == nil {
			err = checkedNumbers(it.Key(), value, &at.revision, &at.position)
		}
		if err == nil && (at.position > c.kept.Position || c.Format == formatWhole) {
			err = fmt.Errorf("%w: it was scavenged up to position %d, but at the last scavenge the log ended before that position", record.ErrDamaged, at.position)
		}
		if err != nil {
			c.damage("%q: %v", it.Key()[min(nameAt, len(it.Key())):], err)
		}
		return c.Scavenged
	})
}

// compare finds the events that only the log or only the index contains.
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

// seek checks that a record has the right index entry.
func (c *checker) seek(r *record.Record) {
	value, err := c.store.Value(StreamKey(r.Stream, r.Revision))
	switch {
	case err != nil:
		c.damage("%s@%d: %v", r.Stream, r.Revision, err)
	case value == nil:
		c.damage("record at %d is %s@%d, which is missing from the index", r.Position, r.Stream, r.Revision)
	case len(value) == indexLen && binary.BigEndian.Uint64(value) != r.Position:
		c.damage("record at %d is %s@%d, but the index has position %d for it", r.Position, r.Stream, r.Revision, binary.BigEndian.Uint64(value))
	}
}

// seekRecord checks that an index entry has a record.
func (c *checker) seekRecord(it *pebble.Iterator) {
	stream, ok := streamOfKey(it.Key())
	if value := it.Value(); ok && len(value) == indexLen {
		if _, _, err := c.store.event(string(stream), revisionOfKey(it.Key()), binary.BigEndian.Uint64(value)); err != nil {
			c.damage("%v", err)
		}
	}
}

// readRest reports keys that do not belong to the log.
func (c *checker) readRest() error {
	foreign := func(it *pebble.Iterator) uint64 {
		if key := string(it.Key()); !slices.Contains([]string{string(formatKey), string(endKey), string(secretKey)}, key) {
			c.damage("the store contains the key %x, which does not belong to the log", it.Key())
		}
		return 0
	}
	return errors.Join(c.each(stepIndex, nil, []byte{logPrefix}, 0, foreign), c.each(stepIndex, afterAll, nil, 0, foreign))
}
