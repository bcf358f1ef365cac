package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
)

// cut says what was scavenged of a stream: everything up to a revision, which
// was the one before the first that is left, or the last of all.
type cut struct {
	revision uint64
	position uint64
}

// first is the lowest revision that can still be there.
func (c cut) first() uint64 { return c.revision + 1 }

// LogEnd is where the log goes on: the position of its last record, also of
// one that was scavenged, the position of the next, and the last one's time.
type LogEnd struct {
	Position, Next uint64
	Created        int64
}

var errBadSum = fmt.Errorf("%w: what is known of scavenging does not match its checksum", record.ErrDamaged)

// sumLen is the length of a checksum.
const sumLen = 4

// withSum is numbers as they are stored under a key, with a checksum over both.
func withSum(key []byte, numbers ...uint64) []byte {
	var value []byte
	for _, n := range numbers {
		value = binary.BigEndian.AppendUint64(value, n)
	}
	return binary.BigEndian.AppendUint32(value, sumOf(key, value))
}

// checkedNumbers reads what withSum made.
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

// cut is what was scavenged of a stream; ok is false if that is nothing.
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

// End is where the log goes on.
func (s *Store) End() (LogEnd, error) {
	last, err := s.lastRecord()
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

// IsScavenged reports whether the log was ever scavenged.
func (s *Store) IsScavenged() bool { return s.scavenged.Load() }

// keptEnd is where the log ended when it was last scavenged; ok is false if it
// never was.
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
		return LogEnd{}, false, fmt.Errorf("the log's end: %w", err)
	}
	end.Created = int64(created)
	return end, true, nil
}

// WasScavenged says whether a position lies where records were scavenged: the
// record before it ends before it, and nothing begins there. It need not have
// been the position of one of them.
func (s *Store) WasScavenged(position uint64) (was bool, err error) {
	if !s.scavenged.Load() {
		return false, nil
	}
	it, err := s.log(0, position)
	if err != nil {
		return false, fmt.Errorf("read the log: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.Last() {
		return true, it.Error()
	}
	r, err := recordUnder(it)
	return err == nil && r.Position+uint64(r.Size()) <= position, err
}

// missing explains an index entry's record that is not there: nil if it was
// scavenged after the entry was read.
func (s *Store) missing(stream string, revision, position uint64) error {
	entry, err := s.Value(StreamKey(stream, revision))
	if err != nil || entry == nil {
		return err
	}
	return record.Damaged(position, fmt.Sprintf("%s@%d is missing", stream, revision))
}

// skipped explains that of a stream the revision next was expected and another
// one was found: nil if what is between was scavenged.
func (s *Store) skipped(stream string, next, found uint64) error {
	c, ok, err := s.cut(stream)
	if err == nil && (!ok || found > c.first()) && found != record.TombstoneRevision {
		err = fmt.Errorf("%w: %s@%d is missing in the index", record.ErrDamaged, stream, next)
	}
	return err
}
