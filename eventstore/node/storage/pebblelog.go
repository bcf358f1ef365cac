package storage

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// PebbleLog passes Pebble's messages to the node's logger, and its failures to
// Fatal.
type PebbleLog struct {
	Logger *slog.Logger
	Fatal  func(error)
	Opened atomic.Bool
}

// Infof logs at level debug.
func (l *PebbleLog) Infof(format string, args ...any) {
	l.Logger.Debug(fmt.Sprintf(format, args...), "from", "pebble")
}

// Errorf logs an error after which Pebble continues.
func (l *PebbleLog) Errorf(format string, args ...any) {
	l.Logger.Error(fmt.Sprintf(format, args...), "from", "pebble")
}

// Background receives errors of writing a table: the disk is full or broken. Pebble
// would retry forever. Readers of a damaged table get the error themselves.
func (l *PebbleLog) Background(err error) {
	if !pebble.IsCorruptionError(err) {
		l.Fatal(fmt.Errorf("write a table: %w", err))
	}
}

// damage logs a damaged table. Its readers get an error.
func (l *PebbleLog) damage(info pebble.DataCorruptionInfo) {
	l.Logger.Error("a table is damaged", "file", info.Path, "error", info.Details, "from", "pebble")
}

// Fatalf must not return. During Open it panics. Later it blocks the caller's
// goroutine with all its locks, while the node stops acknowledging and Serve
// returns.
func (l *PebbleLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !l.Opened.Load() {
		panic(err)
	}
	l.Fatal(err)
	select {}
}
