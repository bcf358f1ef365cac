// Package node is the embedded event store: it speaks EventStoreDB's gRPC
// protocol, as an insecure single node would, over a log in Pebble. Any
// official client reads and writes it; what it does not do it refuses with
// Unimplemented. Open opens or makes a log in a folder, Serve answers clients
// until Close.
//
// An append is acknowledged after it was synced, and nothing is shown to
// anyone before that. After the first write that fails nothing is acknowledged
// any more, and Serve returns why.
//
// The package does not know what the events mean.
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
	dto "github.com/prometheus/client_model/go"
)

// Options say where a node keeps its log.
type Options struct {
	Dir    string       // made if it does not exist
	Logger *slog.Logger // default: slog.Default()
	FS     vfs.FS       // default: the machine's; tests crash or fail another

	// Now is the clock by which events are dated; default: time.Now.
	Now func() time.Time
}

// Node is an open log and what serves it. Safe for concurrent use.
type Node struct {
	logger   *slog.Logger
	now      func() time.Time
	fs       vfs.FS
	store    *store
	tail     *tail
	room     *room
	writer   *writer
	instance uuid.UUID

	whole, readOnly *front

	batchCalls chan struct{} // calls of BatchAppend that go on
	categories *categories
	groups     *groups // of persistent subscriptions

	maintenance sync.Mutex // held by what scavenges or backs up

	closeOnce sync.Once
	closing   chan struct{} // closed by Close, under mu
	failOnce  sync.Once
	failed    chan struct{} // closed once cause is set
	cause     error

	mu      sync.Mutex
	serving sync.WaitGroup // grows under mu, and not once closing is closed
}

// Open opens the log in a folder, or makes it. The folder is locked until
// Close: a second opener gets ErrLocked. A folder that holds anything but a
// log of this version gives ErrWrongFormat.
func Open(o Options) (*Node, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	n := &Node{
		logger:   o.Logger,
		now:      o.Now,
		fs:       o.FS,
		instance: uuid.New(),
		closing:  make(chan struct{}),
		failed:   make(chan struct{}),

		batchCalls: make(chan struct{}, batchCalls),
	}
	var err error
	if n.store, err = openStore(o.Dir, o.FS, o.Logger, n.fail); err != nil {
		return nil, lined{err}
	}
	if err := n.start(); err != nil {
		return nil, lined{errors.Join(fmt.Errorf("open the log in %s: %w", o.Dir, err), n.store.close())}
	}
	return n, nil
}

func (n *Node) start() error {
	end, err := n.store.end()
	if err != nil {
		return err
	}
	known, err := n.store.latest(warmIDs)
	if err != nil {
		return err
	}
	n.tail = newTail(end.position)
	n.room = newRoom(n.failed, n.closing)
	n.writer = newWriter(n.store, n.tail, end, known, n.now, n.fail, n.failed)
	n.categories, n.groups = newCategories(n), &groups{Node: n}
	n.whole, n.readOnly = n.newFront(false), n.newFront(true)
	return nil
}

// fail is told when the log can be written no more.
func (n *Node) fail(err error) {
	n.failOnce.Do(func() {
		n.cause = err
		n.logger.Error("the log failed: nothing is acknowledged any more", "error", err)
		close(n.failed)
	})
}

// Ready returns why calls are not answered, if they are not.
func (n *Node) Ready() error {
	select {
	case <-n.failed:
		return errFailed
	case <-n.closing:
		return errClosed
	default:
		return nil
	}
}

// Serve answers clients on a listener, gRPC and HTTP alike, until Close; then
// it returns nil. It returns the cause when the log fails. It closes the
// listener. It may be called for several listeners.
func (n *Node) Serve(l net.Listener) error { return n.serve(l, n.whole) }

// ServeReadOnly is Serve for clients that read and subscribe, with persistent
// subscriptions too, and may not append or delete.
func (n *Node) ServeReadOnly(l net.Listener) error { return n.serve(l, n.readOnly) }

func (n *Node) serve(l net.Listener, f *front) error {
	if !n.enter() {
		return l.Close()
	}
	defer n.serving.Done()
	grpcLine, httpLine := newLine(l.Addr()), newLine(l.Addr())
	var servers sync.WaitGroup
	servers.Go(func() { _ = f.grpc.Serve(grpcLine) })
	servers.Go(func() { _ = f.http.Serve(httpLine) })
	defer servers.Wait()
	defer grpcLine.end()
	defer httpLine.end()

	accepted := make(chan error, 1)
	go func() { accepted <- n.accept(l, grpcLine, httpLine) }()
	select {
	case <-n.closing:
		return ignoreClosed(errors.Join(l.Close(), <-accepted))
	case <-n.failed:
		_ = errors.Join(l.Close(), <-accepted) // what matters is the cause
		return n.cause
	case err := <-accepted:
		return err
	}
}

// enter says whether the node is open, and if so counts one more that Close
// waits for.
func (n *Node) enter() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.closing:
		return false
	default:
		n.serving.Add(1)
		return true
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// shutdownTime is how long Close waits for calls that are being answered.
const shutdownTime = 5 * time.Second

// Close ends subscriptions, lets the calls that are being answered finish,
// and closes the log. It may be called more than once.
func (n *Node) Close() (err error) {
	n.closeOnce.Do(func() { err = n.close() })
	return err
}

func (n *Node) close() error {
	n.mu.Lock()
	close(n.closing)
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	httpErr := errors.Join(n.whole.close(ctx), n.readOnly.close(ctx))
	n.serving.Wait()
	if err := n.categories.close(); err != nil {
		n.logger.Warn("the index of categories", "error", err) // it is begun anew then
	}
	n.writer.stop()
	select {
	case <-n.quiet():
		if !n.brokenDown() {
			return errors.Join(httpErr, n.store.close())
		}
	case <-n.failed:
	}
	return errors.Join(httpErr, n.abandon())
}

// quiet is closed once nobody writes to the log any more.
func (n *Node) quiet() <-chan struct{} {
	quiet := make(chan struct{})
	go func() {
		n.writer.done.Wait()
		n.maintenance.Lock()
		defer n.maintenance.Unlock()
		close(quiet)
	}()
	return quiet
}

// abandon closes a log that failed, unless somebody is stuck in writing to it.
func (n *Node) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), abandonAfter)
	defer cancel()
	for n.writer.applying.Load() || !n.maintenance.TryLock() {
		if pause(ctx, abandonPoll) != nil {
			return errAbandoned
		}
	}
	defer n.maintenance.Unlock()
	return n.store.abandon()
}

func (n *Node) brokenDown() bool {
	select {
	case <-n.failed:
		return true
	default:
		return false
	}
}

// Stats are counts since Open.
type Stats struct {
	Events uint64 // stored
	Syncs  uint64 // of the write-ahead log
}

// Stats returns the counts so far. Not to be called after Close.
func (n *Node) Stats() Stats {
	var latency dto.Metric
	if err := n.store.db.Metrics().LogWriter.FsyncLatency.Write(&latency); err != nil {
		n.logger.Debug("read Pebble's metrics", "error", err)
	}
	return Stats{Events: n.writer.stored.Load(), Syncs: latency.GetHistogram().GetSampleCount()}
}
