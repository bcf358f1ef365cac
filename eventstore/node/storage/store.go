// Package storage keeps the log in a Pebble store: the records by position, and an
// index of each stream's records. Open opens a log or creates it. Store reads
// records, streams and pages of the log, and applies batches of new records.
// Scavenge and Purge remove hidden events, CopyTo makes a backup, and Check looks
// for damage in the log of a stopped node.
//
// Package writer decides which records are appended. Package openlog keeps the
// synced end of the log, which callers pass to this package as a limit.
package storage

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	dto "github.com/prometheus/client_model/go"

	"hexarena/eventstore/node/disk"
	"hexarena/eventstore/node/record"
)

// Store is the log on disk. Its reads include records that are not synced yet. To
// exclude these records, callers pass the end of the tail as a limit. A Store is safe
// for concurrent use.
type Store struct {
	Index
	dir       string
	fs        *disk.Disk
	lock      *pebble.Lock // the lock on the folder; nil if the caller holds the lock
	scavenged atomic.Bool  // whether the log was ever scavenged
}

// At reads the record at a position. ok is false if the record does not exist.
func (s *Store) At(position uint64) (r record.Record, ok bool, err error) {
	value, closer, err := s.DB.Get(logKey(position))
	if errors.Is(err, pebble.ErrNotFound) {
		return record.Record{}, false, nil
	}
	if err != nil {
		return record.Record{}, false, fmt.Errorf("record at %d: %w", position, err)
	}
	r, err = record.Decode(position, value)
	return r, err == nil, errors.Join(err, closer.Close())
}

// event reads the record of an index entry. ok is false if a scavenge removed the
// record after the caller read the entry.
func (s *Store) event(stream string, revision, position uint64) (r record.Record, ok bool, err error) {
	r, ok, err = s.At(position)
	switch {
	case err != nil:
		return record.Record{}, false, err
	case !ok:
		return record.Record{}, false, s.missing(stream, revision, position)
	case r.Stream != stream || r.Revision != revision:
		return record.Record{}, false, record.Damaged(position, fmt.Sprintf("it is not %s@%d", stream, revision))
	}
	return r, true, nil
}

// Find reads the event at a revision of a stream. ok is false if there is no such
// event up to the position limit.
func (s *Store) Find(stream string, revision, limit uint64) (r record.Record, ok bool, err error) {
	value, err := s.Value(StreamKey(stream, revision))
	if err != nil || value == nil {
		return record.Record{}, false, err
	}
	if len(value) != indexLen {
		return record.Record{}, false, badEntry(value)
	}
	position := binary.BigEndian.Uint64(value)
	if position > limit {
		return record.Record{}, false, nil
	}
	return s.event(stream, revision, position)
}

// Last returns the revision and position of a stream's last event up to the position
// limit, or revision -1 if there is no such event. A scavenge may have removed the
// event, but the stream's next event still gets the following revision.
func (s *Store) Last(stream string, limit uint64) (revision int64, position uint64, err error) {
	revision, position, err = s.LastEntry(stream, limit)
	if err != nil || revision >= 0 {
		return revision, position, err
	}
	c, ok, err := s.cut(stream)
	if err != nil || !ok {
		return -1, 0, err
	}
	return int64(c.revision), c.position, nil
}

// lastRecord returns the log's last record up to the position limit, or the zero Record
// if there is no such record.
func (s *Store) lastRecord(limit uint64) (r record.Record, err error) {
	it, err := s.log(0, limit)
	if err != nil {
		return record.Record{}, fmt.Errorf("read the log: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.Last() {
		return record.Record{}, it.Error()
	}
	return recordUnder(it)
}

// Latest returns the log's last n records, oldest first, but without their types and
// data.
func (s *Store) Latest(n int) (latest []record.Record, err error) {
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
		latest = append(latest, record.Record{Position: r.Position, Revision: r.Revision, ID: r.ID, Stream: strings.Clone(r.Stream)})
	}
	slices.Reverse(latest)
	return latest, nil
}

// LogPage reads a page of the log. A backward page does not include the record at From.
func (s *Store) LogPage(r Range) (p Page, err error) {
	low, high := r.From, r.Within
	begin, next, step := (*pebble.Iterator).First, (*pebble.Iterator).Next, uint64(0)
	if r.Backwards {
		low, high = 0, min(r.From-1, r.Within)
		begin, next, step = (*pebble.Iterator).Last, (*pebble.Iterator).Prev, 1
	}
	if low > high || r.Backwards && r.From == 0 {
		return Page{End: true, Next: r.From}, nil
	}
	it, err := s.log(low, high)
	if err != nil {
		return Page{}, fmt.Errorf("read the log: %w", err)
	}
	defer func() {
		if failed := it.Close(); err == nil {
			err = failed
		}
	}()
	for ok := begin(it); ok; ok = next(it) {
		if p.full(r.Limit) {
			p.Next = positionOfKey(it.Key()) + step
			return p, nil
		}
		found, err := recordUnder(it)
		if err != nil {
			return Page{}, err
		}
		p.add(found)
	}
	p.End = true
	return p, nil
}

// log returns an iterator over the records from one position to another, both
// inclusive.
func (s *Store) log(from, to uint64) (*pebble.Iterator, error) {
	upper := afterLog
	if to < ^uint64(0) {
		upper = logKey(to + 1)
	}
	return s.DB.NewIter(&pebble.IterOptions{LowerBound: logKey(from), UpperBound: upper})
}

func recordUnder(it *pebble.Iterator) (record.Record, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return record.Record{}, err
	}
	return record.Decode(positionOfKey(it.Key()), value)
}

// Syncs returns how often the write-ahead log has been synced since it was opened. Do
// not call it after Close.
func (s *Store) Syncs() uint64 {
	var latency dto.Metric
	if s.DB.Metrics().LogWriter.FsyncLatency.Write(&latency) != nil {
		return 0 // cannot happen: a histogram can always be read
	}
	return latency.GetHistogram().GetSampleCount()
}

// Secret returns random bytes that no client can read. The first call creates them. The
// bytes stay the same as long as the log exists. Do not call Secret concurrently.
func (s *Store) Secret() ([]byte, error) {
	secret, err := s.Value(secretKey)
	if err != nil || secret != nil {
		return secret, err
	}
	secret = make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // never fails
	return secret, s.DB.Set(secretKey, secret, pebble.Sync)
}

// Batch is a set of records that one call to Write wrote.
type Batch struct{ batch *pebble.Batch }

// batchOverhead is the maximum number of bytes that a record adds to a batch besides
// its value and the name of its stream.
const batchOverhead = 64

// Write writes records and their index entries, but does not wait until they are
// synced. After a crash, the log contains either all of them or none.
func (s *Store) Write(records []record.Record) (b Batch, err error) {
	defer recoverInto(&err, "write the log")
	size := 0
	for i := range records {
		size += records[i].Size() + len(records[i].Stream) + batchOverhead
	}
	b = Batch{s.DB.NewBatchWithSize(size)}
	// Pebble sorts the keys in memory, which is faster if adjacent keys are already in
	// order. So all records are put before all index entries.
	for i := range records {
		if err := b.put(&records[i]); err != nil {
			return b, err
		}
	}
	for i := range records {
		if err := b.index(&records[i]); err != nil {
			return b, err
		}
	}
	return b, s.DB.ApplyNoSyncWait(b.batch, pebble.Sync)
}

func (b Batch) put(r *record.Record) error {
	op := b.batch.SetDeferred(1+indexLen, r.Size())
	copy(op.Key, logKey(r.Position))
	r.Append(op.Value[:0])
	if err := op.Finish(); err != nil {
		return fmt.Errorf("write record at %d: %w", r.Position, err)
	}
	return nil
}

func (b Batch) index(r *record.Record) error {
	var position [indexLen]byte
	binary.BigEndian.PutUint64(position[:], r.Position)
	if err := b.batch.Set(StreamKey(r.Stream, r.Revision), position[:], nil); err != nil {
		return fmt.Errorf("index record at %d: %w", r.Position, err)
	}
	return nil
}

// WaitForSync waits until the batch is on disk.
func (b Batch) WaitForSync() error {
	if err := b.batch.SyncWait(); err != nil {
		return fmt.Errorf("sync the log: %w", err)
	}
	return nil
}

// Close frees a batch. Call it after the batch is synced.
func (b Batch) Close() { _ = b.batch.Close() } // cannot fail after the sync

// IsDamage reports whether an error means that stored bytes have changed since they
// were written.
func IsDamage(err error) bool {
	return errors.Is(err, record.ErrDamaged) || pebble.IsCorruptionError(err)
}

// OneLine returns an error's text as one line. Pebble's errors may have several
// lines.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
