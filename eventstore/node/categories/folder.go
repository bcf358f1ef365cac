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
	knownLinks       = 1 << 14 // link streams whose last revision is remembered
)

// builtKey holds the version of the index, and the position and id of the last
// record in it.
var builtKey = []byte("\x00built")

const (
	builtVersion = 1
	builtLen     = 1 + 8 + 16
)

// openIndex opens the existing index. If the existing index cannot be used,
// openIndex creates a new one.
func (c *Categories) openIndex() (storage.Index, uint64, error) {
	index, err := c.openFolder()
	if err == nil {
		at, err := c.builtTo(index)
		if err == nil {
			return index, at, nil
		}
		c.Logger.Info("building the category index from scratch", "reason", err)
		if err := index.DB.Close(); err != nil {
			return storage.Index{}, 0, err
		}
	}
	if err := c.fs.RemoveAll(c.dir); err != nil {
		return storage.Index{}, 0, err
	}
	c.mu.Lock()
	c.cause = nil // the old cause belonged to the removed index
	c.mu.Unlock()
	index, err = c.openFolder()
	return index, 0, err
}

// openFolder opens the Pebble store. If the store fails later, only the
// goroutine that uses the store stops. The log keeps working.
func (c *Categories) openFolder() (storage.Index, error) {
	o := &pebble.Options{FS: c.fs, MemTableSize: categoriesMemory, CacheSize: categoriesMemory, DisableWAL: true}
	damage := func(info pebble.DataCorruptionInfo) { c.broken(fmt.Errorf("%w: %w", record.ErrDamaged, info.Details)) }
	return storage.OpenPebble(c.dir, o, &storage.PebbleLog{Logger: c.Logger, Fatal: c.halted, Stop: runtime.Goexit, Damage: damage})
}

var errOtherLog = errors.New("the index was built for another log")

// builtTo returns the position up to which an index was built for this log.
func (c *Categories) builtTo(index storage.Index) (uint64, error) {
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

// The method halted() handles a fatal Pebble error, after which Pebble cannot continue.
func (c *Categories) halted(err error) {
	c.mu.Lock()
	c.stuck = true
	c.mu.Unlock()
	c.broken(err)
}

// Close closes the index. It removes the folder if the index failed, and keeps it
// otherwise. Call Close only once nothing reads the index any more.
func (c *Categories) Close() error {
	index, ok := c.opened()
	if !ok {
		return nil
	}
	c.mu.Lock()
	broken, stuck := c.cause != nil, c.stuck
	c.mu.Unlock()
	var err error
	if !broken {
		err = index.DB.Flush()
	}
	if !stuck {
		err = errors.Join(err, index.DB.Close())
	}
	if broken {
		err = errors.Join(err, c.fs.RemoveAll(c.dir))
	}
	return err
}
