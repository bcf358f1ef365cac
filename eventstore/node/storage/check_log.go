package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
)

// tally is a sum over (stream, revision, position) that does not depend on their
// order. It compares log and index without looking up each event in the other.
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

// reportEvery is the number of keys between two reports of progress and checks of
// ctx.
const reportEvery = 1024

// each visits the keys from one up to another, exclusive.
func (c *checker) each(step string, from, to []byte, total uint64, visit func(it *pebble.Iterator) (done uint64)) (err error) {
	it, err := c.store.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
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

// logReader is the state of reading the log: the next record begins at next, or
// anywhere if that is 0, and was not created before created.
type logReader struct {
	*checker
	next    uint64
	created int64
}

func (l *logReader) visit(it *pebble.Iterator) uint64 {
	if len(it.Key()) != 1+indexLen {
		l.damage("the log has the key %x", it.Key())
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

// follows checks that a record begins right after the previous one, or after a gap
// that a scavenge may have left.
func (l *logReader) follows(r *record.Record) {
	switch {
	case r.Position == l.next, l.next == 0:
	case r.Position < l.next:
		l.damage("record at %d begins before the one before it ends, at %d", r.Position, l.next)
	case r.Position > l.kept.Next:
		l.damage("records are missing from %d to %d", l.next, r.Position)
	}
	if r.Created < l.created {
		l.damage("record at %d is older than the one before it", r.Position)
	}
	l.next, l.created = r.Position+uint64(r.Size()), max(l.created, r.Created)
}
