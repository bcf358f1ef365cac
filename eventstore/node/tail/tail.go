// Package tail holds the end of the log: how far it is synced, the latest records,
// and the watchers that wait for more. The writer publishes into it. Readers never
// look beyond Tail.End.
package tail

import (
	"sort"
	"sync"

	"hexarena/eventstore/node/record"
)

// The tail holds at most this many of the latest records, and this many bytes
// of them.
const (
	tailRecords = 8192
	tailBytes   = 16 << 20
)

// Tail is the end of the log that is synced: the only part of the log that
// anyone is shown ends where it does. It keeps the latest records for live
// subscribers and wakes them. Safe for concurrent use.
type Tail struct {
	mu       sync.RWMutex
	records  []record.Record // ascending; together with bytes, what is kept
	bytes    int
	synced   uint64 // position of the last synced record
	previous uint64 // position of the last record before records
	all      map[*Watcher]struct{}
	streams  map[string]map[*Watcher]struct{}
}

// Watcher is woken when something was appended that it watches: a signal may
// stand for several appends, and may come for what was seen already.
type Watcher struct{ wakeCh chan struct{} }

func NewWatcher() *Watcher { return &Watcher{wakeCh: make(chan struct{}, 1)} }

// Wake returns the channel on which the watcher is woken.
func (w *Watcher) Wake() <-chan struct{} { return w.wakeCh }

func New(synced uint64) *Tail {
	return &Tail{
		synced:   synced,
		previous: synced,
		all:      make(map[*Watcher]struct{}),
		streams:  make(map[string]map[*Watcher]struct{}),
	}
}

// End is the position of the last synced record, 0 if there is none.
func (t *Tail) End() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.synced
}

// Publish shows records, which are synced and follow the former ones.
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
	for w := range t.all {
		w.Signal()
	}
	for i := range records {
		for w := range t.streams[records[i].Stream] {
			w.Signal()
		}
	}
}

// trim forgets the oldest records beyond the bounds. What readers were handed
// stays as it is: forgotten places are never written again.
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

// Forget drops the records: they are to be read from the store, where some may
// be gone.
func (t *Tail) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records, t.bytes, t.previous = nil, 0, t.synced
}

// After returns at most limit records that follow a position, without a gap,
// and how many there are; ok is false if the tail does not reach back so far.
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

// Watch wakes a watcher for a stream's events, or for all if stream is empty.
// The caller calls stop once.
func (t *Tail) Watch(stream string) (w *Watcher, stop func()) {
	w = NewWatcher()
	t.mu.Lock()
	defer t.mu.Unlock()
	if stream == "" {
		t.all[w] = struct{}{}
	} else {
		if t.streams[stream] == nil {
			t.streams[stream] = make(map[*Watcher]struct{})
		}
		t.streams[stream][w] = struct{}{}
	}
	return w, func() { t.unwatch(stream, w) }
}

func (t *Tail) unwatch(stream string, w *Watcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, w)
	delete(t.streams[stream], w)
	if len(t.streams[stream]) == 0 {
		delete(t.streams, stream)
	}
}

// Signal wakes the watcher.
func (w *Watcher) Signal() {
	select {
	case w.wakeCh <- struct{}{}:
	default:
	}
}
