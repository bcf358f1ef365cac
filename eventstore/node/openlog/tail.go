package openlog

import (
	"sort"
	"sync"

	"hexarena/eventstore/node/record"
)

// These limits apply to the records that the tail keeps in memory.
const (
	tailRecords = 8192
	tailBytes   = 16 << 20
)

// Tail is the synced end of the log. Readers see the log up to End. The tail keeps
// the latest records in memory for live subscribers, and wakes these subscribers. A
// Tail is safe for concurrent use.
type Tail struct {
	mu       sync.RWMutex
	records  []record.Record // the latest records, ascending
	bytes    int
	synced   uint64                           // position of the last synced record
	previous uint64                           // position of the record before the first record in memory
	watchers map[string]map[*Watcher]struct{} // by stream; "" means all streams
}

// Watcher wakes a goroutine. Tail.Watch returns a watcher that is signaled after
// appends to a stream. One signal may cover several appends, and may be for events that
// the goroutine has already read.
type Watcher struct{ wakeCh chan struct{} }

// NewWatcher returns a watcher that only Signal wakes.
func NewWatcher() *Watcher { return &Watcher{wakeCh: make(chan struct{}, 1)} }

// Wake returns the channel that receives a value when the watcher is signaled.
func (w *Watcher) Wake() <-chan struct{} { return w.wakeCh }

// Signal wakes the watcher.
func (w *Watcher) Signal() {
	select {
	case w.wakeCh <- struct{}{}:
	default:
	}
}

// NewTail returns the tail of a log whose last synced record is at the given position.
func NewTail(synced uint64) *Tail {
	return &Tail{
		synced:   synced,
		previous: synced,
		watchers: make(map[string]map[*Watcher]struct{}),
	}
}

// End returns the position of the last synced record, or 0 if the log is empty.
func (t *Tail) End() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.synced
}

// Publish makes records visible to readers. The records must be synced and must
// follow the records that were published earlier.
func (t *Tail) Publish(records []record.Record) {
	if len(records) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = append(t.records, records...)
	for i := range records {
		t.bytes += records[i].Size()
	}
	t.synced = records[len(records)-1].Position
	t.trim()
	for w := range t.watchers[""] {
		w.Signal()
	}
	for i := range records {
		for w := range t.watchers[records[i].Stream] {
			w.Signal()
		}
	}
}

// trim drops the oldest records until the remaining ones are within the limits. Slices
// returned by After stay valid, because trim never overwrites their elements.
func (t *Tail) trim() {
	drop := 0
	for len(t.records)-drop > tailRecords || t.bytes > tailBytes {
		t.bytes -= t.records[drop].Size()
		t.previous = t.records[drop].Position
		drop++
	}
	if drop > 0 {
		t.records = t.records[drop:]
	}
}

// Forget drops the records from memory. Later reads get them from the store, where a
// scavenge may have removed some.
func (t *Tail) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records, t.bytes, t.previous = nil, 0, t.synced
}

// After returns the first records after a position, up to a limit. The result behind is
// the number of all records after the position. The result ok is false if the tail no
// longer contains all of them.
func (t *Tail) After(position uint64, limit int) (records []record.Record, behind int, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if position < t.previous {
		return nil, 0, false
	}
	i := sort.Search(len(t.records), func(i int) bool { return t.records[i].Position > position })
	following := t.records[i:]
	return following[:min(limit, len(following))], len(following), true
}

// Watch returns a watcher for a stream, or for all streams if stream is empty.
// The caller must call stop once.
func (t *Tail) Watch(stream string) (w *Watcher, stop func()) {
	w = NewWatcher()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watchers[stream] == nil {
		t.watchers[stream] = make(map[*Watcher]struct{})
	}
	t.watchers[stream][w] = struct{}{}
	return w, func() { t.unwatch(stream, w) }
}

func (t *Tail) unwatch(stream string, w *Watcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watchers[stream], w)
	if len(t.watchers[stream]) == 0 {
		delete(t.watchers, stream)
	}
}
