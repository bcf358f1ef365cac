// Package categories derives the link streams $ce-<category> and $et-<type>
// from the log. A link stream contains a link to each event of a category or of
// a type. Await opens the index of the link streams and waits until the index
// has caught up. Page reads links.
package categories

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/recent"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// Categories is the index behind the link streams. It maps each revision of a link
// stream to the position of the linked event. The first read of a link stream opens the
// index and starts a goroutine that keeps the index up to date. A node that never
// serves a link stream has no index. The index has its own folder. Its files are never
// synced, because the index can be rebuilt from the log. An index that is damaged or
// belongs to another log is rebuilt from scratch. Categories is safe for concurrent
// use.
type Categories struct {
	*openlog.Log
	fs   vfs.FS
	dir  string
	open sync.Mutex // held while the index is being opened

	mu       sync.Mutex    // guards the fields below
	links    storage.Index // has no DB until it is opened
	at       uint64        // the index is complete up to this position
	advanced chan struct{} // closed when at grows or cause is set
	cause    error         // why the index can no longer be updated or read
	stuck    bool          // the index is so broken that it cannot be closed
	watchers map[*openlog.Watcher]struct{}

	last *recent.Map[string, int64] // last revision of each link stream; only the goroutine that builds the index uses this map
}

// New returns the index of a log. The index is stored in the folder dir. New does
// not open it: Await does.
func New(log *openlog.Log, fs vfs.FS, dir string) *Categories {
	return &Categories{
		Log:      log,
		fs:       fs,
		dir:      dir,
		advanced: make(chan struct{}),
		watchers: map[*openlog.Watcher]struct{}{},
		last:     recent.New[string, int64](knownLinks),
	}
}

// Await waits until the link streams contain all links up to a position.
func (c *Categories) Await(ctx context.Context, position uint64) error {
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
		case <-c.Life.Open().Done():
			return c.Life.Ready()
		}
	}
}

// The method opened() returns the index. ok is false before the first Await.
func (c *Categories) opened() (links storage.Index, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.links, c.links.DB != nil
}

// start opens the index and starts its goroutine, unless it has already done
// so.
func (c *Categories) start() error {
	c.open.Lock()
	defer c.open.Unlock()
	if _, ok := c.opened(); ok {
		return nil
	}
	if !c.Life.Enter() {
		return lifecycle.ErrClosed
	}
	links, at, err := c.openIndex()
	if err != nil {
		c.Life.Leave()
		return fmt.Errorf("category index: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links, c.at = links, at
	go c.build()
	return nil
}

// The method broken() stores the reason why the index can no longer be read or updated.
// The log is not affected.
func (c *Categories) broken(err error) {
	c.Logger.Error("the category index failed; restart the node to rebuild it", "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = fmt.Errorf("category index: %w", err)
		c.notify()
	}
}

// notify wakes the goroutines that wait for the index to grow. The caller holds the
// lock.
func (c *Categories) notify() {
	close(c.advanced)
	c.advanced = make(chan struct{})
	for w := range c.watchers {
		w.Signal()
	}
}

// build keeps the index up to date until the node closes.
func (c *Categories) build() {
	defer c.Life.Leave()
	w, stop := c.Tail.Watch("")
	defer stop()
	for {
		more, err := c.advance()
		if err != nil {
			c.broken(err)
			return
		}
		if more {
			w.Signal()
		}
		select {
		case <-w.Wake():
		case <-c.Life.Open().Done():
			return
		}
	}
}

// advance indexes the next records and reports whether there may be more.
func (c *Categories) advance() (more bool, err error) {
	end := c.Tail.End()
	records, _, ok := c.Tail.After(c.at, storage.PageRecords)
	if !ok {
		p, err := c.Store.LogPage(storage.Range{From: c.at + 1, Within: end, Limit: storage.PageRecords})
		if err != nil {
			return false, err
		}
		records = p.Records
	}
	if len(records) == 0 {
		if end > c.at { // the records up to end were scavenged
			c.reached(end)
		}
		return false, nil
	}
	if err := c.add(records); err != nil {
		return false, err
	}
	c.reached(records[len(records)-1].Position)
	return true, nil
}

func (c *Categories) reached(at uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
	c.notify()
}

// add indexes records in one batch.
func (c *Categories) add(records []record.Record) (err error) {
	b := c.links.DB.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
	for i := range records {
		r := &records[i]
		for _, name := range linkedIn(r) {
			if name == "" || len(name) > record.MaxStreamName {
				continue
			}
			revision, err := c.following(name)
			if err != nil {
				return err
			}
			if err := b.Set(storage.StreamKey(name, uint64(revision)), binary.BigEndian.AppendUint64(nil, r.Position), nil); err != nil {
				return err
			}
		}
	}
	last := &records[len(records)-1]
	built := append(binary.BigEndian.AppendUint64([]byte{builtVersion}, last.Position), last.ID[:]...)
	if err := b.Set(builtKey, built, nil); err != nil {
		return err
	}
	return b.Commit(pebble.NoSync)
}

// The method following() returns the revision for the next link in a link stream.
func (c *Categories) following(name string) (int64, error) {
	last, ok := c.last.Get(name)
	if !ok {
		var err error
		if last, _, err = c.links.LastEntry(name, ^uint64(0)); err != nil {
			return 0, err
		}
	}
	c.last.Put(name, last+1)
	return last + 1, nil
}

// Watch returns a watcher that is signaled when there may be new links. The caller
// must call stop once.
func (c *Categories) Watch() (w *openlog.Watcher, stop func()) {
	w = openlog.NewWatcher()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers[w] = struct{}{}
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, w)
	}
}
