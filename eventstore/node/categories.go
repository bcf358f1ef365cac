package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// categories is the index behind the streams of links, $ce-<category> and
// $et-<type>: which record each revision leads to. It is made when such a
// stream is first asked for, and kept up behind the log from then on, in a
// folder of its own: a log of which nobody asks pays nothing. What it holds can
// be derived from the log again, so that it is never synced, and is begun anew
// where it is damaged or another log's. Safe for concurrent use.
type categories struct {
	*Node
	open sync.Mutex // held while it is opened

	mu       sync.Mutex    // guards what follows
	index    *store        // nil before it is opened; only its streams are used
	at       uint64        // it is complete up to this position
	advanced chan struct{} // closed when at grows, or cause is set
	cause    error         // it cannot be kept up
	watchers map[*watcher]struct{}

	last *recent[string, int64] // revisions; the building goroutine's
}

const (
	categoriesFolder = "categories"
	categoriesMemory = 8 << 20
	knownLinks       = 1 << 14 // streams of links whose end is remembered
)

// builtKey holds how far the index was built: the version, the position and
// the id of the last record.
var builtKey = []byte("\x00built")

const (
	builtVersion = 1
	builtLen     = 1 + 8 + 16
)

func newCategories(n *Node) *categories {
	return &categories{
		Node:     n,
		advanced: make(chan struct{}),
		watchers: map[*watcher]struct{}{},
		last:     newRecent[string, int64](knownLinks),
	}
}

// await waits until the streams of links hold everything up to a position.
func (c *categories) await(ctx context.Context, position uint64) error {
	if err := c.start(); err != nil {
		return err
	}
	for {
		c.mu.Lock()
		at, advanced, cause := c.at, c.advanced, c.cause
		c.mu.Unlock()
		switch {
		case cause != nil:
			return cause
		case at >= position:
			return nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.closing:
			return errClosed
		case <-c.failed:
			return errFailed
		}
	}
}

// opened is the index, nil if nobody has asked for it yet.
func (c *categories) opened() *store {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index
}

// start opens the index and has it built, once.
func (c *categories) start() error {
	c.open.Lock()
	defer c.open.Unlock()
	if c.opened() != nil {
		return nil
	}
	if !c.enter() {
		return errClosed
	}
	index, at, err := c.openIndex()
	if err != nil {
		c.serving.Done()
		return fmt.Errorf("the index of categories: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index, c.at = index, at
	go c.build()
	return nil
}

// openIndex opens what was built before, or begins anew.
func (c *categories) openIndex() (*store, uint64, error) {
	index, err := c.openFolder()
	if err == nil {
		at, err := c.builtTo(index)
		if err == nil {
			return index, at, nil
		}
		c.logger.Info("the index of categories is begun anew", "because", err)
		if err := index.db.Close(); err != nil {
			return nil, 0, err
		}
	}
	if err := c.fs.RemoveAll(c.fs.PathJoin(c.store.dir, categoriesFolder)); err != nil {
		return nil, 0, err
	}
	index, err = c.openFolder()
	return index, 0, err
}

func (c *categories) openFolder() (index *store, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	dir := c.fs.PathJoin(c.store.dir, categoriesFolder)
	log := &indexLog{pebbleLog{logger: c.logger, fatal: c.broken}}
	db, err := pebble.Open(dir, &pebble.Options{
		FS:                 c.fs,
		Logger:             log,
		EventListener:      &pebble.EventListener{BackgroundError: log.background, DataCorruption: log.damage},
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       categoriesMemory,
		CacheSize:          categoriesMemory,
		DisableWAL:         true,
	})
	if err != nil {
		return nil, err
	}
	log.opened.Store(true)
	return &store{dir: dir, db: db}, nil
}

// indexLog ends the goroutine that cannot go on, and not the log.
type indexLog struct{ pebbleLog }

// Fatalf does not return.
func (l *indexLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !l.opened.Load() {
		panic(err)
	}
	l.fatal(err)
	runtime.Goexit()
}

var errOtherLog = errors.New("it was built for another log")

// builtTo is the position up to which an index was built for this log.
func (c *categories) builtTo(index *store) (uint64, error) {
	value, err := index.value(builtKey)
	if err != nil || value == nil {
		return 0, err
	}
	if len(value) != builtLen || value[0] != builtVersion {
		return 0, errDamaged
	}
	at := binary.BigEndian.Uint64(value[1:])
	r, ok, err := c.store.at(at)
	switch {
	case err != nil:
		return 0, err
	case ok && string(r.id[:]) == string(value[9:]):
		return at, nil
	case ok:
		return 0, errOtherLog
	}
	if scavenged, err := c.store.wasScavenged(at); err != nil || !scavenged {
		return 0, errors.Join(errOtherLog, err)
	}
	return at, nil
}

// broken is told that the index cannot be kept up any more. The log itself is
// not affected.
func (c *categories) broken(err error) {
	c.logger.Error("the index of categories", "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = fmt.Errorf("the index of categories: %w", err)
		c.tell()
	}
}

// tell wakes those who wait, under the lock.
func (c *categories) tell() {
	close(c.advanced)
	c.advanced = make(chan struct{})
	for w := range c.watchers {
		w.signal()
	}
}

// build follows the log until the node ends.
func (c *categories) build() {
	defer c.serving.Done()
	w, stop := c.tail.watch("")
	defer stop()
	for {
		more, err := c.advance()
		if err != nil {
			c.broken(err)
			return
		}
		if more {
			w.signal()
		}
		select {
		case <-w.wake:
		case <-c.closing:
			return
		case <-c.failed:
			return
		}
	}
}

// advance indexes some of what follows, and says whether there is more.
func (c *categories) advance() (more bool, err error) {
	end := c.tail.end()
	records, _, ok := c.tail.after(c.at, pageRecords)
	if !ok {
		p, err := c.store.logForwards(c.at+1, end, pageRecords)
		if err != nil {
			return false, err
		}
		records = p.records
	}
	if len(records) == 0 {
		if end > c.at { // the rest was scavenged
			c.reached(end)
		}
		return false, nil
	}
	if err := c.add(records); err != nil {
		return false, err
	}
	c.reached(records[len(records)-1].position)
	return true, nil
}

func (c *categories) reached(at uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
	c.tell()
}

// add indexes records, all at once.
func (c *categories) add(records []record) error {
	b := c.index.db.NewBatch()
	defer b.Close()
	for i := range records {
		r := &records[i]
		for _, name := range linkedIn(r) {
			if name == "" || len(name) > maxStreamName {
				continue
			}
			revision, err := c.following(name)
			if err != nil {
				return err
			}
			if err := b.Set(streamKey(name, uint64(revision)), binary.BigEndian.AppendUint64(nil, r.position), nil); err != nil {
				return err
			}
		}
	}
	last := &records[len(records)-1]
	built := append(binary.BigEndian.AppendUint64([]byte{builtVersion}, last.position), last.id[:]...)
	if err := b.Set(builtKey, built, nil); err != nil {
		return err
	}
	return b.Commit(pebble.NoSync)
}

// following is the next revision of a stream of links.
func (c *categories) following(name string) (int64, error) {
	last, ok := c.last.get(name)
	if !ok {
		var err error
		if last, _, err = c.index.lastEntry(name, ^uint64(0)); err != nil {
			return 0, err
		}
	}
	c.last.put(name, last+1)
	return last + 1, nil
}

// watch wakes a watcher when there may be new links.
func (c *categories) watch() (w *watcher, stop func()) {
	w = &watcher{wake: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers[w] = struct{}{}
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, w)
	}
}

// close keeps what was built. Nobody reads it any more.
func (c *categories) close() error {
	index := c.opened()
	if index == nil {
		return nil
	}
	c.mu.Lock()
	broken := c.cause != nil
	c.mu.Unlock()
	if broken {
		return nil // what is left of it is looked at when it is opened again
	}
	return errors.Join(index.db.Flush(), index.db.Close())
}

// The streams of links.
const (
	categoryPrefix = "$ce-"
	typePrefix     = "$et-"
	typeDeleted    = "$deleted" // of what deletes, for which there are several
)

// isDerived says whether a stream is one of links.
func isDerived(stream string) bool {
	return strings.HasPrefix(stream, categoryPrefix) || strings.HasPrefix(stream, typePrefix)
}

// linkedIn are the streams of links that have one to a record; some may be
// empty. A soft delete counts to the stream that it deletes.
func linkedIn(r *record) (in [2]string) {
	stream, kind := r.stream, r.kind
	if isMetaStream(stream) {
		if !parseMeta(r.data).softDeleted() {
			return in
		}
		stream, kind = originalOf(stream), typeDeleted
	} else if kind == typeStreamDeleted {
		kind = typeDeleted
	}
	if stream == "" || stream[0] == '$' {
		return in
	}
	if category, _, ok := strings.Cut(stream, "-"); ok && category != "" {
		in[0] = categoryPrefix + category
	}
	in[1] = typePrefix + kind
	return in
}
