package categories

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

const (
	categoriesMemory = 8 << 20
	knownLinks       = 1 << 14 // streams of links whose end is remembered
)

// builtKey holds the version of the index, and the position and id of the last
// record in it.
var builtKey = []byte("\x00built")

const (
	builtVersion = 1
	builtLen     = 1 + 8 + 16
)

// linkIndex is the open index in its folder.
type linkIndex struct {
	storage.Index
	db *pebble.DB
}

// openIndex opens the index that was built before, or begins a new one.
func (c *Categories) openIndex() (*linkIndex, uint64, error) {
	index, err := c.openFolder()
	if err == nil {
		at, err := c.builtTo(index)
		if err == nil {
			return index, at, nil
		}
		c.Logger.Info("the index of categories is built from scratch", "reason", err)
		if err := index.db.Close(); err != nil {
			return nil, 0, err
		}
	}
	if err := c.FS.RemoveAll(c.Dir); err != nil {
		return nil, 0, err
	}
	c.mu.Lock()
	c.cause = nil // it belonged to the removed index
	c.mu.Unlock()
	index, err = c.openFolder()
	return index, 0, err
}

func (c *Categories) openFolder() (_ *linkIndex, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	log := &indexLog{storage.PebbleLog{Logger: c.Logger, Fatal: c.halted}}
	db, err := pebble.Open(c.Dir, &pebble.Options{
		FS:                 c.FS,
		Logger:             log,
		EventListener:      &pebble.EventListener{BackgroundError: log.Background, DataCorruption: func(info pebble.DataCorruptionInfo) { c.broken(fmt.Errorf("%w: %w", record.ErrDamaged, info.Details)) }},
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       categoriesMemory,
		CacheSize:          categoriesMemory,
		DisableWAL:         true,
	})
	if err != nil {
		return nil, err
	}
	log.Opened.Store(true)
	return &linkIndex{storage.NewIndex(db), db}, nil
}

// indexLog ends the goroutine that cannot continue, and not the log.
type indexLog struct{ storage.PebbleLog }

// Fatalf does not return.
func (l *indexLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !l.Opened.Load() {
		panic(err)
	}
	l.Fatal(err)
	runtime.Goexit()
}

var errOtherLog = errors.New("the index was built for another log")

// builtTo returns the position up to which an index was built for this log.
func (c *Categories) builtTo(index *linkIndex) (uint64, error) {
	value, err := index.Value(builtKey)
	if err != nil || value == nil {
		return 0, err
	}
	if len(value) != builtLen || value[0] != builtVersion {
		return 0, record.ErrDamaged
	}
	at := binary.BigEndian.Uint64(value[1:])
	r, ok, err := c.Store.At(at)
	switch {
	case err != nil:
		return 0, err
	case ok && string(r.ID[:]) == string(value[9:]):
		return at, nil
	case ok:
		return 0, errOtherLog
	}
	if scavenged, err := c.Store.WasScavenged(at); err != nil || !scavenged {
		return 0, errors.Join(errOtherLog, err)
	}
	return at, nil
}

// halted records that Pebble cannot continue.
func (c *Categories) halted(err error) {
	c.mu.Lock()
	c.stuck = true
	c.mu.Unlock()
	c.broken(err)
}

// Close keeps the index, or removes one that failed. Nobody reads it any more.
func (c *Categories) Close() error {
	index := c.opened()
	if index == nil {
		return nil
	}
	c.mu.Lock()
	broken, stuck := c.cause != nil, c.stuck
	c.mu.Unlock()
	var err error
	if !broken {
		err = index.db.Flush()
	}
	if !stuck {
		err = errors.Join(err, index.db.Close())
	}
	if broken {
		err = errors.Join(err, c.FS.RemoveAll(c.Dir))
	}
	return err
}
