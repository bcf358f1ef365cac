package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// categories is the index behind the streams of links, $ce-<category> and
// $et-<type>: which record each revision leads to. It is made when such a
// stream is first asked for, and kept up behind the log from then on, in a
// folder of its own: a log of which nobody asks pays nothing. What it holds can
// be derived from the log again, so that it is never synced, and is begun anew
// where it is damaged or another log's. Safe for concurrent use.
type categories struct {
	categoriesOptions
	open sync.Mutex // held while it is opened

	mu       sync.Mutex    // guards what follows
	links    *linkIndex    // nil before it is opened
	at       uint64        // it is complete up to this position
	advanced chan struct{} // closed when at grows, or cause is set
	cause    error         // it cannot be kept up, or read
	stuck    bool          // and not be closed either
	watchers map[*watcher]struct{}

	last *recent[string, int64] // revisions; the building goroutine's
}

// categoriesOptions are the parts that the index needs. dir is its folder.
type categoriesOptions struct {
	logger *slog.Logger
	life   *lifecycle
	fs     vfs.FS
	dir    string
	store  *store
	tail   *tail
}

func newCategories(o categoriesOptions) *categories {
	return &categories{
		categoriesOptions: o,

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
		case <-c.life.closing:
			return errClosed
		case <-c.life.failed:
			return errFailed
		}
	}
}

// opened is the index, nil if nobody has asked for it yet.
func (c *categories) opened() *linkIndex {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.links
}

// start opens the index and has it built, once.
func (c *categories) start() error {
	c.open.Lock()
	defer c.open.Unlock()
	if c.opened() != nil {
		return nil
	}
	if !c.life.enter() {
		return errClosed
	}
	links, at, err := c.openIndex()
	if err != nil {
		c.life.leave()
		return fmt.Errorf("the index of categories: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links, c.at = links, at
	go c.build()
	return nil
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
	defer c.life.leave()
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
		case <-c.life.closing:
			return
		case <-c.life.failed:
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
func (c *categories) add(records []record) (err error) {
	b := c.links.db.NewBatch()
	defer func() { err = errors.Join(err, b.Close()) }()
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
		if last, _, err = c.links.lastEntry(name, ^uint64(0)); err != nil {
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
