package node

import (
	"fmt"
	"log/slog"
	"sync/atomic"
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
