package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/disk"
	"hexarena/eventstore/node/record"
)

// Scavenged counts what a scavenge has removed.
type Scavenged struct {
	Streams uint64 `json:"streams"` // streams that lost events
	Events  uint64 `json:"events"`
	Bytes   uint64 `json:"bytes"` // total size of the removed records
}

// Progress receives the progress of a long operation, step by step. total is 0 if the
// total is unknown. A nil Progress is allowed.
type Progress func(step string, done, total uint64)

func (p Progress) report(step string, done, total uint64) {
	if p != nil {
		p(step, done, total)
	}
}

// These are the steps of a scavenge.
const (
	stepRemove  = "removing events"
	stepCompact = "rewriting files"
)

// Scavenge removes hidden events from the log. It keeps all events whose position is
// greater than within. The parameter now is the current time in ticks. It determines
// the age of events. To remove the events from the files too, call Purge afterwards.
func (s *Store) Scavenge(ctx context.Context, within uint64, now int64, progress Progress) (Scavenged, error) {
	run := &scavenger{store: s, within: within, now: now, progress: progress}
	err := run.run(ctx)
	return run.done, err
}

// scavenger removes events that are hidden at a given time, up to a given position.
type scavenger struct {
	store    *Store
	within   uint64
	now      int64
	progress Progress
	begun    bool
	done     Scavenged
}

// begin runs before the scavenge removes its first event. It marks the log as
// scavenged and stores the end of the log, so that no position is used twice.
func (s *scavenger) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	r, ok, err := s.store.At(s.within)
	if err != nil {
		return err
	}
	b := s.store.DB.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(formatKey, []byte(formatScavenged), nil); err != nil {
		return err
	}
	if !ok && !s.store.scavenged.Load() {
		return record.Damaged(s.within, "it is missing")
	}
	if ok { // otherwise, the last record was scavenged, and the log's end is already stored
		if err := (LogEnd{s.within, s.within + uint64(r.Size()), r.Created}).put(b); err != nil {
			return err
		}
	}
	s.store.scavenged.Store(true)
	return b.Commit(pebble.Sync)
}

// run scavenges all streams.
func (s *scavenger) run(ctx context.Context) error {
	from := []byte{streamPrefix}
	for {
		stream, ok, err := s.store.streamFrom(from)
		if err != nil || !ok {
			return err
		}
		if err := s.scavenge(ctx, stream); err != nil {
			return err
		}
		from = append(StreamKey(stream, ^uint64(0)), 0)
	}
}

// streamFrom returns the stream of the first index key at or after from.
func (s *Store) streamFrom(from []byte) (stream string, ok bool, err error) {
	it, err := s.DB.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: afterStreams})
	if err != nil {
		return "", false, fmt.Errorf("read the index: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.First() {
		return "", false, it.Error()
	}
	name, ok := streamOfKey(it.Key())
	if !ok {
		return "", false, fmt.Errorf("%w: the index has the malformed key %x", record.ErrDamaged, it.Key())
	}
	return string(name), true, nil
}

// scavenge removes the hidden events of one stream.
func (s *scavenger) scavenge(ctx context.Context, stream string) error {
	v, err := s.store.View(stream, s.within, s.now)
	if err != nil {
		return err
	}
	below := uint64(max(v.First, 0))
	if v.Tombstoned() {
		below = record.TombstoneRevision
	}
	before := s.done.Events
	for more := below > 0; more; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if more, err = s.removeSome(stream, below); err != nil {
			return err
		}
		s.progress.report(stepRemove, s.done.Events, 0)
	}
	if s.done.Events > before {
		s.done.Streams++
	}
	return nil
}

// removedAtOnce is the maximum number of events that one batch removes.
const removedAtOnce = 4096

// removeSome removes some events of a stream below a revision, oldest first, and
// reports whether there may be more.
func (s *scavenger) removeSome(stream string, below uint64) (more bool, err error) {
	b := s.store.DB.NewBatch()
	defer func() { _ = b.Close() }()
	entries, err := s.store.Entries(stream, 0, below-1, s.within)
	if err != nil {
		return false, err
	}
	defer entries.CloseInto(&err)
	count, last := 0, cut{}
	for ok := entries.First(); ok && count < removedAtOnce; ok = entries.Next() {
		last.revision, last.position = entries.Entry()
		if err := s.remove(b, stream, last); err != nil {
			return false, err
		}
		count++
	}
	if count == 0 || entries.err != nil {
		return false, entries.err
	}
	if err := errors.Join(last.put(b, stream), s.begin()); err != nil {
		return false, err
	}
	return count == removedAtOnce, b.Commit(pebble.Sync)
}

// remove removes one event. It reads the event first, so that a damaged index entry
// never removes another stream's event.
func (s *scavenger) remove(b *pebble.Batch, stream string, at cut) error {
	r, ok, err := s.store.event(stream, at.revision, at.position)
	if err != nil || !ok {
		return err
	}
	s.done.Events++
	s.done.Bytes += uint64(r.Size())
	if err := b.Delete(logKey(at.position), nil); err != nil {
		return err
	}
	return b.Delete(StreamKey(stream, at.revision), nil)
}

// Purge polls until the old files are gone. To replace the write-ahead logs, it
// switches to a new log a few times in a row and then once per poll.
const (
	purgePoll    = 10 * time.Millisecond
	purgeAtOnce  = 8
	purgeChanges = 100
)

// Purge rewrites the files of the log, so that no file contains removed events.
func (s *Store) Purge(ctx context.Context, progress Progress) error {
	progress.report(stepCompact, 0, 0)
	if err := s.renewLogs(ctx); err != nil {
		return err
	}
	if err := s.DB.Compact(ctx, []byte{0}, afterAll, true); err != nil {
		return err
	}
	for {
		if m := s.DB.Metrics(); m.Table.ObsoleteCount == 0 && m.Table.ZombieCount == 0 {
			return nil
		}
		if err := pause(ctx, purgePoll); err != nil {
			return err
		}
	}
}

// renewLogs replaces the write-ahead logs with new files, both those in use and those
// kept for reuse.
func (s *Store) renewLogs(ctx context.Context) error {
	old, err := disk.WALs(s.fs, s.dir)
	if err != nil {
		return err
	}
	s.fs.SetRecreate(true)
	defer s.fs.SetRecreate(false)
	for change := range purgeChanges {
		if err := s.DB.Set(formatKey, []byte(s.format()), pebble.Sync); err != nil {
			return err
		}
		if err := s.DB.Flush(); err != nil {
			return err
		}
		now, err := disk.WALs(s.fs, s.dir)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(now, func(name string) bool { return slices.Contains(old, name) }) {
			return nil
		}
		if change < purgeAtOnce {
			continue
		}
		if err := pause(ctx, purgePoll); err != nil {
			return err
		}
	}
	return errors.New("the write-ahead log still uses old files")
}

// pause waits for the duration d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
