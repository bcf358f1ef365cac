// Package writer is the write path of the log. Begin passes a request to the
// writer, and Await returns the outcome once it is durable. Submit does both. The
// comment on Writer explains the path from admission to acknowledgment.
package writer

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/openlog"
	"hexarena/eventstore/node/recent"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// These are the writer's limits.
const (
	groupBytes = 4 << 20 // a group is committed once it is larger than this
	knownHeads = 1 << 15 // minimum number of streams whose heads are remembered; the maximum is twice that
	knownIDs   = 1 << 16 // minimum number of event ids that are remembered; the maximum is twice that
	warmIDs    = 1 << 13 // number of event ids that are read when the log is opened
)

// Writer owns the write path of the log: every append and every delete passes
// through its goroutine.
//
//	call ─► admission ─► queue ─► decide ─► group ─► commit ─► sync ─► publish ─► answer
//	        (caller)              └─────────────── the writer's goroutine ──────────────┘
//
// Admission. A caller takes a slot before it receives events from its client, so
// unanswered appends use a bounded amount of memory. The slot is part of the request.
// The writer frees the slot just before it answers the request. If Submit returns an
// error because its context ended, the writer still owns the slot and frees it when the
// request's group is done.
//
// Decide. Begin adds the request to an unbounded queue (admission bounds it). The
// goroutine takes the whole queue and decides its requests one after another, in the
// order of their arrival. A decision compares the expected revision with the stream's
// head, recognizes retries by event id, and adds records to the current group. This is
// the only goroutine that assigns positions, revisions and creation times. Therefore,
// it needs no locks, and positions and creation times never decrease along the log. A
// rejected request adds no record, but it still joins the group, because its outcome
// may depend on a record of the same group or of an earlier group that is not synced
// yet.
//
// Group commit. After the last request of the queue, or when the group exceeds
// groupBytes, the group is committed: one Pebble batch contains all its records and index
// entries. So the log contains either all records of a request or none. Records of the
// current group cannot be read from the store yet. Therefore, the goroutine commits the
// group before it decides a second request for a stream that the group has written. The
// method commit() hands the batch to Pebble, which appends the batch to its write-ahead
// log. The method does not wait for the sync.
//
// Sync and acknowledgment. When all requests of the queue are committed, the goroutine
// waits until the batch of each group is on disk, in commit order. One sync of the disk
// often covers all batches. Meanwhile, new requests arrive in the queue and share the
// next sync. After the sync of a group, the goroutine publishes the group's records in
// the tail, which makes them visible to reads and wakes subscribers. Only then does the
// goroutine answer the group's requests. So no caller and no reader ever sees an event
// that a power loss could remove.
//
// Failures. There are three kinds:
//
//   - A request that is rejected (wrong revision, deleted stream) gets a verdict. It
//     writes nothing, and the writer continues.
//   - A caller that stops waiting (its context ends) does not know the outcome: the
//     request may still be stored. If the caller retries with the same event ids, the
//     retry gets the outcome of the first attempt.
//   - The first failure to read, write or sync the log is final. Lifecycle.Fail records
//     it, no matter whether the writer, Pebble in the background, or the disk guard
//     found it. After that, the writer acknowledges and publishes nothing, even if
//     later syncs succeed: the kernel may have dropped the pages of a failed sync, so a
//     retried sync proves nothing. All waiting callers get ErrFailed with an unknown
//     outcome. Serve returns the cause, the process exits, and the next Open reads what
//     is really on disk.
//
// docs/durability.md explains what the node guarantees to clients.
type Writer struct {
	*openlog.Log

	mu     sync.Mutex // guards queue and closed
	queue  []*Request
	closed bool
	wake   *openlog.Watcher // wakes the writer's goroutine

	// Only the writer's goroutine uses these fields.
	next      uint64 // the next record's position
	created   int64  // the last record's creation time
	heads     *recent.Map[string, storage.Head]
	ids       *recent.Map[eventKey, eventAt]
	group     *group
	committed []*group // committed groups that are not finished yet, oldest first

	running  sync.WaitGroup
	applying atomic.Bool   // whether Pebble is writing; it may be stuck
	stored   atomic.Uint64 // events
}

// group is a set of requests that are committed and synced together.
type group struct {
	batch   storage.Batch // set by commit, if there are records
	records []record.Record
	bytes   uint64              // size of the records
	touched map[string]struct{} // the OriginalOf of each stream that the group writes
	answers []answer
}

type answer struct {
	to      *Request
	outcome Outcome
}

// New starts the writer of a log. Stop ends it.
func New(log *openlog.Log) (*Writer, error) {
	end, err := log.Store.End()
	if err != nil {
		return nil, err
	}
	known, err := log.Store.Latest(warmIDs)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		Log:     log,
		wake:    openlog.NewWatcher(),
		next:    end.Next,
		created: end.Created,
		heads:   recent.New[string, storage.Head](knownHeads),
		ids:     recent.New[eventKey, eventAt](knownIDs),
	}
	for _, r := range known {
		w.ids.PutNew(eventKey{r.ID, r.Stream}, eventAt{r.Revision, r.Position})
	}
	w.group = newGroup()
	w.running.Go(w.run)
	return w, nil
}

// Submit begins a request and waits for its outcome.
func (w *Writer) Submit(ctx context.Context, r *Request) (Outcome, error) {
	if err := w.Begin(r); err != nil {
		return Outcome{}, err
	}
	return w.Await(ctx, r)
}

// Begin adds a request to the end of the queue. The writer then owns the request's
// slot and events, even if Begin returns an error.
func (w *Writer) Begin(r *Request) error {
	r.done = make(chan Outcome, 1)
	if !w.enqueue(r) {
		r.Slot.Leave()
		return lifecycle.ErrClosed
	}
	return nil
}

// Outcome returns the outcome of a request if it is already durable. Then, Await must not
// be called.
func (r *Request) Outcome() (out Outcome, known bool) {
	select {
	case out = <-r.done:
		return out, true
	default:
		return Outcome{}, false
	}
}

// Await waits until the outcome of a request is durable. If ctx ends or the log
// fails first, the outcome is unknown.
func (w *Writer) Await(ctx context.Context, r *Request) (Outcome, error) {
	select {
	case out := <-r.done:
		return out, nil
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	case <-w.Life.Failed():
		return Outcome{}, lifecycle.ErrFailed
	}
}

func (w *Writer) enqueue(requests ...*Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, requests...)
	w.wake.Signal()
	return true
}

// Stop lets the writer finish the queued requests and rejects later ones. If
// the log has failed, the writer's goroutine ends immediately, unless Pebble
// blocks it.
func (w *Writer) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.wake.Signal()
}

// Wait waits until the writer has ended.
func (w *Writer) Wait() { w.running.Wait() }

// IsApplying reports whether Pebble is applying one of the writer's batches. If the log
// has failed, this may never end.
func (w *Writer) IsApplying() bool { return w.applying.Load() }

// Events returns how many events have been stored.
func (w *Writer) Events() uint64 { return w.stored.Load() }

func (w *Writer) take() (queue []*Request, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue, w.queue = w.queue, nil
	return queue, w.closed
}

func (w *Writer) run() {
	for range w.wake.Wake() {
		runtime.Gosched() // let ready calls queue their requests, so that these share the sync
		queue, closed := w.take()
		for _, r := range queue {
			w.handle(r)
		}
		w.commit()
		w.finishAll()
		if closed {
			return
		}
	}
}

// handle decides the outcome of one request. It adds the request to the current group,
// or to a new one.
func (w *Writer) handle(r *Request) {
	if _, ok := w.group.touched[record.OriginalOf(r.Stream)]; ok || w.group.bytes > groupBytes {
		w.commit()
	}
	if w.Life.HasFailed() {
		return
	}
	out, err := w.decide(r)
	if err != nil {
		w.Life.Fail(err)
		return
	}
	w.group.answers = append(w.group.answers, answer{r, out})
}

func newGroup() *group { return &group{touched: make(map[string]struct{})} }

// commit passes the records of the current group to Pebble.
func (w *Writer) commit() {
	g := w.group
	if len(g.answers) == 0 {
		return
	}
	w.group = newGroup()
	w.committed = append(w.committed, g)
	if len(g.records) == 0 || w.Life.HasFailed() {
		return
	}
	w.applying.Store(true)
	defer w.applying.Store(false)
	var err error
	if g.batch, err = w.Store.Write(g.records); err != nil {
		w.Life.Fail(err)
	}
}

func (w *Writer) finishAll() {
	for _, g := range w.committed {
		w.finish(g)
	}
	clear(w.committed)
	w.committed = w.committed[:0]
}

// finish waits for a group's sync, then publishes its records and answers its
// requests. If the log has failed, Await returns an error instead.
func (w *Writer) finish(g *group) {
	if w.Life.HasFailed() {
		return
	}
	if len(g.records) > 0 {
		if err := g.batch.WaitForSync(); err != nil {
			w.Life.Fail(err)
			return
		}
		g.batch.Close()
	}
	w.Tail.Publish(g.records)
	w.stored.Add(uint64(len(g.records)))
	for _, a := range g.answers {
		a.to.Slot.Leave()
		a.to.Events = nil // a caller may keep the append for longer than it has its slot
		a.to.done <- a.outcome
	}
}

// add appends events to a stream in the current group, and updates the stream's
// head. It returns the position of the last event.
func (w *Writer) add(stream string, h *storage.Head, events []Proposed) (position uint64) {
	g := w.group
	for i := range events {
		r := w.record(stream, h.Last+1, &events[i])
		g.records = append(g.records, r)
		size := uint64(r.Size())
		g.bytes += size
		w.next += size
		h.Last, h.Position = int64(r.Revision), r.Position
		w.ids.PutNew(eventKey{r.ID, stream}, eventAt{r.Revision, r.Position})
	}
	w.heads.Put(stream, *h)
	g.touched[record.OriginalOf(stream)] = struct{}{}
	return h.Position
}

func (w *Writer) record(stream string, revision int64, e *Proposed) record.Record {
	w.created = max(w.created, record.Ticks(w.Now()))
	return record.Record{
		Position: w.next,
		Revision: uint64(revision),
		Created:  w.created,
		ID:       e.ID,
		JSON:     e.JSON,
		Stream:   stream,
		Type:     e.Type,
		Data:     e.Data,
		Metadata: e.Metadata,
	}
}

// With these types, the writer remembers where in a stream it stored each recent
// event id first.
type (
	eventKey struct {
		id     uuid.UUID
		stream string
	}
	eventAt struct{ revision, position uint64 }
)
