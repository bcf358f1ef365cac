// Package node is the embedded event store. It serves EventStoreDB's gRPC protocol,
// like a single EventStoreDB node in insecure mode, and keeps its log in Pebble. Any
// official client can read from it and write to it. Unsupported calls return
// Unimplemented. Open opens the log in a folder, or creates it. Serve serves clients
// until Close.
//
// The node acknowledges an append only after it has synced the append. Until then,
// nobody can read the events of the append. After the first failed write, the node
// stops acknowledging appends, and Serve returns the cause. docs/durability.md explains
// this in full.
//
// This package only wires the parts and owns their lifecycle. Read the packages below
// it from the bottom up: record and disk, storage and openlog, then writer (the write
// path), streams and categories, and the services reads, writes and persistent. The
// node knows nothing about the meaning of events.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"hexarena/eventstore/node/categories"
	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/persistent"
	"hexarena/eventstore/node/quota"
	"hexarena/eventstore/node/reads"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/streams"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
	"hexarena/eventstore/node/writes"
)

// Options configure a node. Dir and Logger are required.
type Options struct {
	Dir    string // the log's folder; Open creates it if it is missing
	Logger *slog.Logger
	Quotas Quotas

	MaxAppendSize int              // the data of one append, in bytes; default: 1 MiB; at most LargestAppendSize
	CommitTimeout time.Duration    // the longest that an append of BatchAppend may wait for its response; default: 2 s, as in EventStoreDB
	FS            vfs.FS           // default: the machine's file system; tests use a file system that can fail
	Now           func() time.Time // the clock for creation times; default: time.Now
}

// Node is an open log and the servers for it. A Node is safe for concurrent use.
type Node struct {
	log        *openlog.Log
	instance   uuid.UUID // identifies the node, the only one in its cluster
	writer     *writer.Writer
	categories *categories.Categories

	calls           streamsService
	subscriptions   persistent.Service
	whole, readOnly *serverPair
	publicCalls     *quota.Counter // counts the open calls of clients of ServeReadOnly
	expose          func() error   // prepares the node for ServeReadOnly, once

	maintenance sync.Mutex // held during a scavenge or a backup
	closeOnce   sync.Once
}

// Open opens the log in a folder, or creates it. The folder is locked until
// Close: a second Open returns ErrLocked. Open returns ErrWrongFormat if the
// folder contains anything other than a log of this version.
func Open(o Options) (*Node, error) {
	if o.MaxAppendSize == 0 {
		o.MaxAppendSize = wire.MaxAppend
	}
	if o.CommitTimeout == 0 {
		o.CommitTimeout = 2 * time.Second
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	log, err := openlog.Open(o.Dir, o.FS, o.Logger, o.Now)
	if err != nil {
		return nil, lined{err}
	}
	w, err := writer.New(log)
	if err != nil {
		return nil, lined{errors.Join(fmt.Errorf("open the log in %s: %w", o.Dir, err), log.Store.Close())}
	}
	n := &Node{log: log, instance: uuid.New(), writer: w}
	n.categories = categories.New(log, o.FS, o.FS.PathJoin(o.Dir, categoriesFolder))
	reader := &streams.Reader{Log: log, Categories: n.categories}
	n.calls = streamsService{Writes: writes.New(w, o.MaxAppendSize, o.CommitTimeout), Reads: reads.Reads{Reader: reader}}
	n.subscriptions = persistent.New(reader, w, o.Quotas.Persistent)
	n.publicCalls, n.expose = quota.NewCounter(o.Quotas.Calls), sync.OnceValue(n.exposeSubscriptions)
	n.whole, n.readOnly = n.newServerPair(false, quota.Limit{}), n.newServerPair(true, o.Quotas.Connections)
	return n, nil
}

// Quotas limit what clients of ServeReadOnly may use. They do not apply to clients
// of Serve.
type Quotas struct {
	Connections quota.Limit
	Calls       quota.Limit // open calls: reads, subscriptions and all others
	Persistent  persistent.Quotas
}

// categoriesFolder is the folder of the category index, inside the log's folder.
const categoriesFolder = "categories"

// Ready returns nil while the node serves calls, and otherwise the reason why it
// does not.
func (n *Node) Ready() error { return n.log.Life.Ready() }

// Serve serves gRPC and HTTP clients on a listener until Close, and then returns
// nil. If the log fails, Serve returns the cause. Serve closes the listener. It may
// be called for several listeners.
func (n *Node) Serve(l net.Listener) error { return n.whole.mux.Serve(l) }

// ServeReadOnly is like Serve, but rejects appends and deletes. Clients may read
// and subscribe, and may also use persistent subscriptions. Because anyone may
// connect, Quotas limit what clients may use, and clients from one network cannot
// change the persistent subscriptions of another.
func (n *Node) ServeReadOnly(l net.Listener) error {
	if err := n.expose(); err != nil {
		return errors.Join(fmt.Errorf("serve strangers: %w", err), l.Close())
	}
	return n.readOnly.mux.Serve(l)
}

func (n *Node) exposeSubscriptions() error {
	if !n.log.Life.Enter() {
		return nil // Serve closes the listener
	}
	defer n.log.Life.Leave()
	secret, err := n.log.Store.Secret()
	if err == nil {
		n.subscriptions.Expose(secret)
	}
	return err
}

// shutdownTime is how long Close waits for calls in progress.
const shutdownTime = 5 * time.Second

// Close ends subscriptions, lets calls in progress finish, and closes the log.
// It may be called more than once.
func (n *Node) Close() (err error) {
	n.closeOnce.Do(func() { err = n.close() })
	return err
}

func (n *Node) close() error {
	n.log.Life.Close()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	serveErr := errors.Join(n.whole.close(ctx), n.readOnly.close(ctx))
	n.log.Life.Wait()
	if err := n.categories.Close(); err != nil {
		n.log.Logger.Warn("could not close the category index; the node rebuilds it from scratch at the next startup", "error", err)
	}
	n.writer.Stop()
	select {
	case <-n.quiet():
		if !n.log.Life.HasFailed() {
			return errors.Join(serveErr, n.log.Store.Close())
		}
	case <-n.log.Life.Failed():
	}
	return errors.Join(serveErr, n.abandon())
}

// The method quiet() returns a channel that is closed once nothing writes to the log any
// more.
func (n *Node) quiet() <-chan struct{} {
	quiet := make(chan struct{})
	go func() {
		n.writer.Wait()
		n.maintenance.Lock()
		defer n.maintenance.Unlock()
		close(quiet)
	}()
	return quiet
}

// The method abandon() checks at intervals of abandonPoll whether writing has ended.
const abandonPoll = 5 * time.Millisecond

// abandon closes a failed log, unless a goroutine is stuck writing to it.
func (n *Node) abandon() error {
	timeout := time.After(storage.AbandonAfter)
	for n.writer.IsApplying() || !n.maintenance.TryLock() {
		select {
		case <-time.After(abandonPoll):
		case <-timeout:
			return storage.ErrAbandoned
		}
	}
	defer n.maintenance.Unlock()
	return n.log.Store.Abandon()
}

// Stats holds counts since Open.
type Stats struct {
	Events uint64 // events stored
	Syncs  uint64 // syncs of the write-ahead log
}

// PublicStats describes what the clients of ServeReadOnly use, and counts how often a
// quota has rejected a client since Open.
type PublicStats struct {
	Connections, Calls               int
	RefusedConnections, RefusedCalls uint64
	Persistent                       persistent.Stats
}

// PublicStats returns the statistics about the clients of ServeReadOnly.
func (n *Node) PublicStats() (s PublicStats) {
	s.Connections, s.RefusedConnections = n.readOnly.mux.Connections.Count()
	s.Calls, s.RefusedCalls = n.publicCalls.Count()
	s.Persistent = n.subscriptions.Stats()
	return s
}

// Stats returns the statistics of the node. Do not call it after Close.
func (n *Node) Stats() Stats {
	return Stats{Events: n.writer.Events(), Syncs: n.log.Store.Syncs()}
}

// The type lined is an error whose text has no line breaks.
type lined struct{ error }

func (e lined) Error() string { return storage.OneLine(e.error) }
func (e lined) Unwrap() error { return e.error }
