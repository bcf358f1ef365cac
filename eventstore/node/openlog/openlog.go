// Package openlog provides the open log that the parts of a node share: the store,
// its synced end, the clock, and the lifecycle. The writer publishes new records
// through Tail. Readers never look beyond Tail.End.
package openlog

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/storage"
)

// Log is an open log. A Log is safe for concurrent use.
type Log struct {
	Logger *slog.Logger
	Now    func() time.Time // the clock for creation times
	Life   *lifecycle.Lifecycle
	Store  *storage.Store
	Tail   *Tail
}

// Open opens the log in a folder, or creates it. The caller must close Store.
func Open(dir string, fs vfs.FS, logger *slog.Logger, now func() time.Time) (*Log, error) {
	life := lifecycle.New(logger)
	store, err := storage.Open(dir, fs, logger, life.Fail)
	if err != nil {
		return nil, err
	}
	end, err := store.End()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the log in %s: %w", dir, err), store.Close())
	}
	return &Log{Logger: logger, Now: now, Life: life, Store: store, Tail: NewTail(end.Position)}, nil
}
