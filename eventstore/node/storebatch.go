package node

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// writeBatch gathers records that are written together.
type writeBatch struct{ batch *pebble.Batch }

func (s *store) newBatch() writeBatch { return writeBatch{s.db.NewBatch()} }

// put adds a record and its index entry.
func (b writeBatch) put(r *record) error {
	op := b.batch.SetDeferred(1+indexLen, r.size())
	copy(op.Key, logKey(r.position))
	r.append(op.Value[:0])
	if err := op.Finish(); err != nil {
		return fmt.Errorf("write record at %d: %w", r.position, err)
	}
	var position [indexLen]byte
	binary.BigEndian.PutUint64(position[:], r.position)
	if err := b.batch.Set(streamKey(r.stream, r.revision), position[:], nil); err != nil {
		return fmt.Errorf("index record at %d: %w", r.position, err)
	}
	return nil
}

// size is the size of the batch in bytes.
func (b writeBatch) size() int { return b.batch.Len() }

func (b writeBatch) empty() bool { return b.batch.Empty() }

// apply writes the batch without waiting for its sync. Pebble panics if it
// cannot continue; apply returns that as an error.
func (s *store) apply(b writeBatch) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("write the log: %v", cause)
		}
	}()
	return s.db.ApplyNoSyncWait(b.batch, pebble.Sync)
}

// waitForSync waits until an applied batch is on disk.
func (b writeBatch) waitForSync() error {
	if err := b.batch.SyncWait(); err != nil {
		return fmt.Errorf("sync the log: %w", err)
	}
	return nil
}

// close frees a batch that was applied and synced, or is empty.
func (b writeBatch) close() { _ = b.batch.Close() } // it has nothing left that can fail
