package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/disk"
)

// Purge polls until old files are gone. To replace the write-ahead logs it switches
// to a new one some times in a row, and then once per poll.
const (
	purgePoll    = 10 * time.Millisecond
	purgeAtOnce  = 8
	purgeChanges = 100
)

// Purge rewrites the files of the log, so that no file holds removed events.
func (s *Store) Purge(ctx context.Context, progress Progress) error {
	progress.report(stepCompact, 0, 0)
	if err := s.renewLogs(ctx); err != nil {
		return err
	}
	if err := s.db.Compact(ctx, []byte{0}, afterAll, true); err != nil {
		return err
	}
	for {
		if m := s.db.Metrics(); m.Table.ObsoleteCount == 0 && m.Table.ZombieCount == 0 {
			return nil
		}
		if err := pause(ctx, purgePoll); err != nil {
			return err
		}
	}
}

// Flush writes records that Pebble holds in memory to tables.
func (s *Store) Flush() error { return s.db.Flush() }

// renewLogs replaces every write-ahead log, in use or kept for reuse, by a new file.
func (s *Store) renewLogs(ctx context.Context) error {
	old, err := s.logFiles()
	if err != nil {
		return err
	}
	s.fs.SetRecreate(true)
	defer s.fs.SetRecreate(false)
	for change := range purgeChanges {
		if err := s.db.Set(formatKey, []byte(s.format()), pebble.Sync); err != nil {
			return err
		}
		if err := s.Flush(); err != nil {
			return err
		}
		now, err := s.logFiles()
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
	return errors.New("the write-ahead log is still in its old files")
}

// logFiles returns the names of the write-ahead logs.
func (s *Store) logFiles() ([]string, error) {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !disk.IsWAL(name) }), nil
}

// pause waits for a while, or for ctx to end.
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
