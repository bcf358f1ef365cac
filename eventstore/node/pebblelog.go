package node

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// pebbleLog hands Pebble's words to the node's logger.
type pebbleLog struct {
	logger *slog.Logger
	fatal  func(error)
	opened atomic.Bool
}

// Infof logs what Pebble does by the way.
func (l *pebbleLog) Infof(format string, args ...any) {
	l.logger.Debug(fmt.Sprintf(format, args...), "from", "pebble")
}

// Errorf logs what Pebble goes on after.
func (l *pebbleLog) Errorf(format string, args ...any) {
	l.logger.Error(fmt.Sprintf(format, args...), "from", "pebble")
}

// background hears of writing tables in vain, which Pebble would try again and
// again: the disk is full, or broken. Damage of a table is left to its readers.
func (l *pebbleLog) background(err error) {
	if !pebble.IsCorruptionError(err) {
		l.fatal(fmt.Errorf("write a table: %w", err))
	}
}

// damage hears of a table that is not as it was written. Who reads it gets an
// error.
func (l *pebbleLog) damage(info pebble.DataCorruptionInfo) {
	l.logger.Error("a table is damaged", "file", info.Path, "error", info.Details, "from", "pebble")
}

// Fatalf must not return. While Pebble is being opened it panics. Later the
// caller's goroutine stops here, with whatever it holds, while the node stops
// acknowledging and Serve returns.
func (l *pebbleLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !l.opened.Load() {
		panic(err)
	}
	l.fatal(err)
	select {}
}
