package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
)

// cut locates the last event that a scavenge removed from a stream. All earlier
// events of the stream have been removed too.
type cut struct {
	revision uint64
	position uint64
}

// first returns the lowest revision that may still exist.
func (c cut) first() uint64 { return c.revision + 1 }

// LogEnd is the end of the log: the position and creation time of its last record, and
// the position of the next record. The last record counts even if it was scavenged.
type LogEnd struct {
	Position, Next uint64
	Created        int64
}

var errBadSum = fmt.Errorf("%w: the stored result of a scavenge does not match its checksum", record.ErrDamaged)

// sumLen is the length of a checksum.
const sumLen = 4

// withSum encodes numbers and a checksum over the key and the numbers.
func withSum(key []byte, numbers ...uint64) []byte {
	var value []byte
	for _, n := range numbers {
		value = binary.BigEndian.AppendUint64(value, n)
	}
	return binary.BigEndian.AppendUint32(value, sumOf(key, value))
}

// checkedNumbers decodes numbers that withSum encoded.
func checkedNumbers(key, value []byte, numbers ...*uint64) error {
	body := 8 * len(numbers)
	if len(value) != body+sumLen || binary.BigEndian.Uint32(value[body:]) != sumOf(key, value[:body]) {
		return errBadSum
	}
	for i, n := range numbers {
		*n = binary.BigEndian.Uint64(value[8*i:])
	}
	return nil
}

func sumOf(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, record.Castagnoli), record.Castagnoli, value)
}

func (c cut) put(b *pebble.Batch, stream string) error {
	key := cutKey(stream)
	return b.Set(key, withSum(key, c.revision, c.position), nil)
}

// The method cut() returns the cut of a stream. The result ok is false if none of the
// stream's events were scavenged.
func (s *Store) cut(stream string) (c cut, ok bool, err error) {
	if !s.scavenged.Load() {
		return cut{}, false, nil
	}
	key := cutKey(stream)
	value, err := s.Value(key)
	if err != nil || value == nil {
		return cut{}, false, err
	}
	if err := checkedNumbers(key, value, &c.revision, &c.position); err != nil {
		return cut{}, false, fmt.Errorf("%s: %w", stream, err)
	}
	return c, true, nil
}

func (e LogEnd) put(b *pebble.Batch) error {
	return b.Set(endKey, withSum(endKey, e.Position, e.Next, uint64(e.Created)), nil)
}

// End returns the end of the log.
func (s *Store) End() (LogEnd, error) {
	last, err := s.lastRecord(math.MaxUint64)
	if err != nil {
		return LogEnd{}, err
	}
	end := LogEnd{Position: last.Position, Next: 1, Created: last.Created}
	if last.Position > 0 {
		end.Next = last.Position + uint64(last.Size())
	}
	kept, ok, err := s.keptEnd()
	if ok && kept.Position > end.Position {
		end = kept
	}
	return end, err
}

// IsScavenged reports whether the log has ever been scavenged.
func (s *Store) IsScavenged() bool { return s.scavenged.Load() }

// keptEnd returns the end of the log at its last scavenge. ok is false if the log has
// never been scavenged.
func (s *Store) keptEnd() (end LogEnd, ok bool, err error) {
	if !s.scavenged.Load() {
		return LogEnd{}, false, nil
	}
	value, err := s.Value(endKey)
	if err != nil {
		return LogEnd{}, false, err
	}
	var created uint64
	if err := checkedNumbers(endKey, value, &end.Position, &end.Next, &created); err != nil {
		return LogEnd{}, false, fmt.Errorf("end of the log: %w", err)
	}
	end.Created = int64(created)
	return end, true, nil
}

// WasScavenged reports whether a position is anywhere in a gap that a scavenge
// left.
func (s *Store) WasScavenged(position uint64) (bool, error) {
	if !s.scavenged.Load() {
		return false, nil
	}
	r, err := s.lastRecord(position)
	return err == nil && (r.Position == 0 || r.Position+uint64(r.Size()) <= position), err
}

// The method missing() returns the error for an index entry without a record. It returns
// nil if a scavenge removed the record after the caller read the entry.
func (s *Store) missing(stream string, revision, position uint64) error {
	entry, err := s.Value(StreamKey(stream, revision))
	if err != nil || entry == nil {
		return err
	}
	return record.Damaged(position, fmt.Sprintf("%s@%d is missing", stream, revision))
}

// The method skipped() returns the error for an index that continues with revision found
// instead of revision next. It returns nil if a scavenge left the gap.
func (s *Store) skipped(stream string, next, found uint64) error {
	c, ok, err := s.cut(stream)
	if err == nil && (!ok || found > c.first()) && found != record.TombstoneRevision {
		err = fmt.Errorf("%w: %s@%d is missing from the index", record.ErrDamaged, stream, next)
	}
	return err
}
