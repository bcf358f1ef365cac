package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Bounds of the writer.
const (
	groupBytes = 4 << 20 // a group is committed when it has grown beyond this
	unsynced   = 64      // groups that may wait for their sync
	knownHeads = 1 << 15 // streams whose end is remembered, twice at most
	knownIDs   = 1 << 16 // event ids that are remembered, twice at most
	warmIDs    = 1 << 13 // of those, how many are read again when a log is opened
)

// Why calls are turned away: both are Unavailable to a client, to whom the
// outcome of what it was waiting for is unknown.
var (
	errClosed = errors.New("the node is shutting down")
	errFailed = errors.New("the log failed")
)

// writer is the only one that appends. One goroutine decides requests in the
// order of their arrival and gathers what they append into groups; a second
// waits for each group's sync, shows its records and answers its requests, in
// order, so that an answer never rests on what is not synced. While a group
// syncs the next is prepared. After the first failure nothing is acknowledged
// any more.
type writer struct {
	store *store
	tail  *tail
	fail  func(error) // closes broken: the end of all acknowledging
	now   func() time.Time

	mu     sync.Mutex // guards queue and closed
	queue  []*request
	closed bool
	wake   chan struct{}

	// What follows belongs to the deciding goroutine.
	next    uint64 // the next record's position
	created int64  // the last record's time
	heads   *recent[string, head]
	ids     *recent[eventKey, place]
	group   *group

	groups chan *group     // from the deciding goroutine to the syncing one
	broken <-chan struct{} // closed at the first failure, be it the writer's or Pebble's own
	done   sync.WaitGroup

	applying atomic.Bool   // Pebble is writing, and may be stuck
	stored   atomic.Uint64 // events
}

// group is what is committed at once.
type group struct {
	batch   *pebble.Batch
	records []record
	touched map[string]struct{} // streams written, by originalOf
	answers []answer
}

type answer struct {
	to  *request
	out outcome
}

func newWriter(s *store, t *tail, end logEnd, known []record, now func() time.Time, fail func(error), broken <-chan struct{}) *writer {
	w := &writer{
		store: s, tail: t, fail: fail, now: now,
		wake:    make(chan struct{}, 1),
		next:    end.next,
		created: end.created,
		heads:   newRecent[string, head](knownHeads),
		ids:     newRecent[eventKey, place](knownIDs),
		groups:  make(chan *group, unsynced),
		broken:  broken,
	}
	for _, r := range known {
		w.ids.put(eventKey{r.id, r.stream}, place{r.revision, r.position})
	}
	w.group = w.newGroup()
	w.done.Add(2)
	go w.decideAll()
	go w.syncAll()
	return w
}

// submit has a request decided and waits for the outcome to be durable. When
// ctx ends first the outcome is unknown.
func (w *writer) submit(ctx context.Context, r *request) (outcome, error) {
	if err := w.begin(r); err != nil {
		return outcome{}, err
	}
	return w.await(ctx, r)
}

// begin puts a request behind those that were begun before. Its seat is the
// writer's to leave.
func (w *writer) begin(r *request) error {
	r.done = make(chan outcome, 1)
	if !w.enqueue(r) {
		r.seat.leave()
		return errClosed
	}
	return nil
}

// await waits for the outcome of a request that was begun.
func (w *writer) await(ctx context.Context, r *request) (outcome, error) {
	select {
	case out := <-r.done:
		return out, out.err
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	case <-w.broken:
		return outcome{}, errFailed
	}
}

func (w *writer) enqueue(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, r)
	w.signal()
	return true
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop has what was submitted decided and synced, and nothing more. Its
// goroutines end then; those of a broken writer at once, unless Pebble holds on
// to them.
func (w *writer) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.signal()
}

func (w *writer) take() (queue []*request, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue, w.queue = w.queue, nil
	return queue, w.closed
}

func (w *writer) decideAll() {
	defer w.done.Done()
	defer close(w.groups)
	for range w.wake {
		queue, closed := w.take()
		for _, r := range queue {
			w.handle(r)
		}
		w.commit()
		if closed {
			return
		}
	}
}

// handle decides one request. What the current group has written is not
// readable before it is committed, so a second request for a stream commits it.
func (w *writer) handle(r *request) {
	if _, ok := w.group.touched[originalOf(r.stream)]; ok || w.group.batch.Len() > groupBytes {
		w.commit()
	}
	if w.isBroken() {
		return
	}
	out, err := w.decide(r)
	if err != nil {
		w.fail(err)
		return
	}
	w.group.answers = append(w.group.answers, answer{r, out})
}

func (w *writer) newGroup() *group {
	return &group{batch: w.store.db.NewBatch(), touched: make(map[string]struct{})}
}

// commit hands the current group to Pebble and to the syncing goroutine.
func (w *writer) commit() {
	g := w.group
	if len(g.answers) == 0 {
		return
	}
	w.group = w.newGroup()
	if err := w.apply(g.batch); err != nil {
		w.fail(err)
	}
	w.groups <- g
}

// apply writes a batch without waiting for its sync, unless the writer is
// broken. Pebble panics where it cannot go on.
func (w *writer) apply(b *pebble.Batch) (err error) {
	w.applying.Store(true)
	defer w.applying.Store(false)
	if b.Empty() || w.isBroken() {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("write the log: %v", cause)
		}
	}()
	return w.store.db.ApplyNoSyncWait(b, pebble.Sync)
}

func (w *writer) syncAll() {
	defer w.done.Done()
	for g := range w.groups {
		w.finish(g)
	}
}

// finish waits for a group's sync, then shows and answers it. Those who wait
// for an answer of a broken writer hear of that by themselves.
func (w *writer) finish(g *group) {
	if w.isBroken() {
		return
	}
	if !g.batch.Empty() {
		if err := g.batch.SyncWait(); err != nil {
			w.fail(fmt.Errorf("sync the log: %w", err))
			return
		}
	}
	w.tail.publish(g.records)
	w.stored.Add(uint64(len(g.records)))
	_ = g.batch.Close() // an applied batch has nothing left to fail
	for _, a := range g.answers {
		a.to.seat.leave()
		a.to.done <- a.out
	}
}

func (w *writer) isBroken() bool {
	select {
	case <-w.broken:
		return true
	default:
		return false
	}
}

// add puts events behind a stream's last one, in the current group. The
// position is the last event's.
func (w *writer) add(stream string, h *head, events []proposed) (position uint64, err error) {
	g := w.group
	for i := range events {
		r := w.record(stream, h.last+1, &events[i])
		if err := w.put(r); err != nil {
			return 0, err
		}
		h.last, h.position = int64(r.revision), r.position
		w.ids.put(eventKey{r.id, stream}, place{r.revision, r.position})
	}
	w.heads.put(stream, *h)
	g.touched[originalOf(stream)] = struct{}{}
	return h.position, nil
}

func (w *writer) record(stream string, revision int64, e *proposed) record {
	w.created = max(w.created, ticks(w.now()))
	return record{
		position: w.next,
		revision: uint64(revision),
		created:  w.created,
		id:       e.id,
		json:     e.json,
		stream:   stream,
		kind:     e.kind,
		data:     e.data,
		metadata: e.metadata,
	}
}

func (w *writer) put(r record) error {
	b, size := w.group.batch, r.size()
	op := b.SetDeferred(1+indexLen, size)
	copy(op.Key, logKey(r.position))
	r.append(op.Value[:0])
	if err := op.Finish(); err != nil {
		return fmt.Errorf("write record at %d: %w", r.position, err)
	}
	var position [indexLen]byte
	binary.BigEndian.PutUint64(position[:], r.position)
	if err := b.Set(streamKey(r.stream, r.revision), position[:], nil); err != nil {
		return fmt.Errorf("index record at %d: %w", r.position, err)
	}
	w.group.records = append(w.group.records, r)
	w.next += uint64(size)
	return nil
}
