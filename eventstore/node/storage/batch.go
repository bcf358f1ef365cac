package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
)

// Batch gathers records that are written together.
type Batch struct{ batch *pebble.Batch }

// NewBatch returns an empty batch.
func (s *Store) NewBatch() Batch { return Batch{s.db.NewBatch()} }

// Put adds a record and its index entry.
func (b Batch) Put(r *record.Record) error {
	op := b.batch.SetDeferred(1+indexLen, r.Size())
	copy(op.Key, logKey(r.Position))
	r.Append(op.Value[:0])
	if err := op.Finish(); err != nil {
		return fmt.Errorf("write record at %d: %w", r.Position, err)
	}
	var position [indexLen]byte
	binary.BigEndian.PutUint64(position[:], r.Position)
	if err := b.batch.Set(StreamKey(r.Stream, r.Revision), position[:], nil); err != nil {
		return fmt.Errorf("index record at %d: %w", r.Position, err)
	}
	return nil
}

// Size is the size of the batch in bytes.
func (b Batch) Size() int { return b.batch.Len() }

// Empty reports whether the batch holds no records.
func (b Batch) Empty() bool { return b.batch.Empty() }

// Apply writes the batch without waiting for its sync. Pebble panics if it
// cannot continue; apply returns that as an error.
func (s *Store) Apply(b Batch) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("write the log: %v", cause)
		}
	}()
	return s.db.ApplyNoSyncWait(b.batch, pebble.Sync)
}

// WaitForSync waits until an applied batch is on disk.
func (b Batch) WaitForSync() error {
	if err := b.batch.SyncWait(); err != nil {
		return fmt.Errorf("sync the log: %w", err)
	}
	return nil
}

// Close frees a batch that was applied and synced, or is empty.
func (b Batch) Close() { _ = b.batch.Close() } // it has nothing left that can fail
