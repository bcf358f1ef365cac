package storage

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// PebbleLog passes Pebble's messages to the node's logger. It passes Pebble's failures
// to the functions in its fields.
type PebbleLog struct {
	Logger *slog.Logger
	Fatal  func(error)                     // receives the failure after which Pebble cannot continue
	Stop   func()                          // ends or blocks the goroutine that cannot continue
	Damage func(pebble.DataCorruptionInfo) // receives the details of a damaged table; reads of the table also return an error

	opened atomic.Bool
}

// Infof logs at level debug.
func (l *PebbleLog) Infof(format string, args ...any) {
	l.Logger.Debug(fmt.Sprintf(format, args...), "from", "pebble")
}

// Errorf logs an error after which Pebble continues.
func (l *PebbleLog) Errorf(format string, args ...any) {
	l.Logger.Error(fmt.Sprintf(format, args...), "from", "pebble")
}

// background receives Pebble's background errors. If a table cannot be written, the
// disk is full or broken. Pebble would retry forever, so the error is fatal. Damage
// is not fatal: a read of the damaged table returns the error.
func (l *PebbleLog) background(err error) {
	if !pebble.IsCorruptionError(err) {
		l.Fatal(fmt.Errorf("write a table: %w", err))
	}
}

// Fatalf does not return. While Pebble is being opened, Fatalf panics.
func (l *PebbleLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !l.opened.Load() {
		panic(err)
	}
	l.Fatal(err)
	l.Stop()
}

// OpenPebble opens a Pebble store and returns the index in it.
func OpenPebble(dir string, o *pebble.Options, log *PebbleLog) (x Index, err error) {
	defer recoverInto(&err, "open Pebble")
	o.Logger = log
	o.EventListener = &pebble.EventListener{BackgroundError: log.background, DataCorruption: log.Damage}
	o.FormatMajorVersion = pebble.FormatNewest
	db, err := pebble.Open(dir, o)
	log.opened.Store(err == nil)
	return Index{db}, err
}

// recoverInto turns a panic into an error. Pebble panics if it cannot continue.
func recoverInto(err *error, doing string) {
	switch cause := recover().(type) {
	case nil:
	case error:
		*err = fmt.Errorf("%s: %w", doing, cause)
	default:
		*err = fmt.Errorf("%s: %v", doing, cause)
	}
}
