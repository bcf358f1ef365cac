package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
)

// The store has the following keys. Integers are big-endian, so that keys sort like
// numbers.
//
//	0x00 "format"                             → the format version, in decimal
//	0x00 "secret"                             → the secret, if Store.Secret has created it
//	0x01 position(8)                          → a record
//	0x02 length(2) stream name revision(8)    → the record's position(8)
//
// A scavenged log also has
//
//	0x00 "end"                                → a LogEnd
//	0x03 length(2) stream name                → a cut
const (
	logPrefix    = 0x01
	streamPrefix = 0x02
	cutPrefix    = 0x03
	indexLen     = 8
)

var (
	formatKey = []byte("\x00format")
	endKey    = []byte("\x00end")
	secretKey = []byte("\x00secret")
)

func logKey(position uint64) []byte {
	key := make([]byte, 0, 1+indexLen)
	key = append(key, logPrefix)
	return binary.BigEndian.AppendUint64(key, position)
}

// These are the upper bounds of the record keys, of the index keys, and of all
// keys.
var (
	afterLog     = []byte{logPrefix + 1}
	afterStreams = []byte{streamPrefix + 1}
	afterAll     = []byte{cutPrefix + 1}
)

func positionOfKey(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

// StreamKey returns the key of an index entry.
func StreamKey(stream string, revision uint64) []byte {
	key := make([]byte, 0, nameAt+len(stream)+indexLen)
	return binary.BigEndian.AppendUint64(appendName(key, streamPrefix, stream), revision)
}

func cutKey(stream string) []byte {
	return appendName(make([]byte, 0, nameAt+len(stream)), cutPrefix, stream)
}

// nameAt is the offset of the stream's name in a key.
const nameAt = 3

func appendName(key []byte, prefix byte, stream string) []byte {
	key = append(key, prefix)
	key = binary.BigEndian.AppendUint16(key, uint16(len(stream)))
	return append(key, stream...)
}

// streamOfKey returns the stream in the key of an index entry. ok is false if the key
// is not an index key.
func streamOfKey(key []byte) (stream []byte, ok bool) {
	if len(key) < nameAt+indexLen || key[0] != streamPrefix {
		return nil, false
	}
	stream = key[nameAt : len(key)-indexLen]
	return stream, int(binary.BigEndian.Uint16(key[1:])) == len(stream)
}

func revisionOfKey(key []byte) uint64 {
	return binary.BigEndian.Uint64(key[len(key)-indexLen:])
}

// Index maps the revisions of streams to positions in the log. The log has one
// Index for its stored streams, and the node derives another one for $ce- and
// $et- streams.
type Index struct{ DB *pebble.DB }

// Value returns a copy of the value of a key, or nil if the key does not exist.
func (x Index) Value(key []byte) ([]byte, error) {
	value, closer, err := x.DB.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append([]byte{}, value...), closer.Close()
}

// LastEntry returns the revision and position of a stream's last entry up to the
// position limit. If there is no such entry, the revision is -1.
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

// Entries returns an iterator over a stream's entries from one revision to another,
// both inclusive. The iterator ends before the first entry beyond the position limit.
func (x Index) Entries(stream string, from, to, limit uint64) (Entries, error) {
	it, err := x.DB.NewIter(&pebble.IterOptions{LowerBound: StreamKey(stream, from), UpperBound: StreamKey(stream, to+1)})
	if err != nil {
		return Entries{}, fmt.Errorf("index of %s: %w", stream, err)
	}
	return Entries{it: it, limit: limit}, nil
}

// ReadPage reads a page of a stream through a view. The function read returns the event
// of an entry. It returns ok == false if the event no longer exists.
func (x Index) ReadPage(stream string, v View, r Range, read func(revision, position uint64) (e record.Record, ok bool, err error)) (p Page, err error) {
	low, high := r.bounds(v)
	if v.Last < 0 || low > high {
		return Page{End: true}, nil
	}
	entries, err := x.Entries(stream, low, high, r.Within)
	if err != nil {
		return Page{}, err
	}
	defer entries.CloseInto(&err)
	begin, next := (*Entries).First, (*Entries).Next
	if r.Backwards {
		begin, next = (*Entries).Last, (*Entries).Prev
	}
	for ok := begin(&entries); ok; ok = next(&entries) {
		revision, position := entries.Entry()
		if p.full(r.Limit) {
			p.Next = revision
			return p, nil
		}
		e, ok, err := read(revision, position)
		if err != nil {
			return Page{}, err
		}
		if ok && !v.Hides(&e) {
			p.add(e)
		}
	}
	p.End = true
	return p, nil
}

// Entries is an iterator over a stream's revisions and positions. Positions increase
// with revisions, so all entries beyond the limit are at the end.
type Entries struct {
	it    *pebble.Iterator
	limit uint64
	err   error
}

// First moves to the first entry. It returns false if no entry is within the
// limit.
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

// Entry returns the revision and position of the current entry.
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

// CloseInto closes the iterator and joins its errors with *err.
func (e *Entries) CloseInto(err *error) { *err = errors.Join(*err, e.err, e.it.Close()) }
