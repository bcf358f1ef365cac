package storage

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// PebbleLog hands Pebble's words to the node's logger.
type PebbleLog struct {
	Logger *slog.Logger
	Fatal  func(error)
	Opened atomic.Bool
}

// Infof logs what Pebble does by the way.
func (l *PebbleLog) Infof(format string, args ...any) {
	l.Logger.Debug(fmt.Sprintf(format, args...), "from", "pebble")
}

// Errorf logs what Pebble goes on after.
func (l *PebbleLog) Errorf(format string, args ...any) {
	l.Logger.Error(fmt.Sprintf(format, args...), "from", "pebble")
}

// Background hears of writing tables in vain, which Pebble would try again and
// again: the disk is full, or broken. Damage of a table is left to its readers.
func (l *PebbleLog) Background(err error) {
	if !pebble.IsCorruptionError(err) {
		l.Fatal(fmt.Errorf("write a table: %w", err))
	}
}

// damage hears of a table that is not as it was written. Who reads it gets an
// error.
func (l *PebbleLog) damage(info pebble.DataCorruptionInfo) {
	l.Logger.Error("a table is damaged", "file", info.Path, "error", info.Details, "from", "pebble")
}

// Fatalf must not return. While Pebble is being opened it panics. Later the
// caller's goroutine stops here, with whatever it holds, while the node stops
// acknowledging and Serve returns.
func (l *PebbleLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !l.Opened.Load() {
		panic(err)
	}
	l.Fatal(err)
	select {}
}
