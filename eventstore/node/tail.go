package node

import (
	"sort"
	"sync"
)

// The tail holds at most this many of the latest records, and this many bytes
// of them.
const (
	tailRecords = 8192
	tailBytes   = 16 << 20
)

// tail is the end of the log that is synced: the only part of the log that
// anyone is shown ends where it does. It keeps the latest records for live
// subscribers and wakes them. Safe for concurrent use.
type tail struct {
	mu       sync.RWMutex
	records  []record // ascending; together with bytes, what is kept
	bytes    int
	synced   uint64 // position of the last synced record
	previous uint64 // position of the last record before records
	all      map[*watcher]struct{}
	streams  map[string]map[*watcher]struct{}
}

// watcher is woken when something was appended that it watches: a signal may
// stand for several appends, and may come for what was seen already.
type watcher struct{ wake chan struct{} }

func newTail(synced uint64) *tail {
	return &tail{
		synced:   synced,
		previous: synced,
		all:      make(map[*watcher]struct{}),
		streams:  make(map[string]map[*watcher]struct{}),
	}
}

// end is the position of the last synced record, 0 if there is none.
func (t *tail) end() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.synced
}

// publish shows records, which are synced and follow the former ones.
func (t *tail) publish(records []record) {
	if len(records) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = append(t.records, records...)
	for i := range records {
		t.bytes += records[i].size()
	}
	t.synced = records[len(records)-1].position
	t.trim()
	for w := range t.all {
		w.signal()
	}
	for i := range records {
		for w := range t.streams[records[i].stream] {
			w.signal()
		}
	}
}

// trim forgets the oldest records beyond the bounds. What readers were handed
// stays as it is: forgotten places are never written again.
func (t *tail) trim() {
	drop := 0
	for len(t.records)-drop > tailRecords || t.bytes > tailBytes {
		t.bytes -= t.records[drop].size()
		t.previous = t.records[drop].position
		drop++
	}
	if drop > 0 {
		t.records = t.records[drop:]
	}
}

// forget drops the records: they are to be read from the store, where some may
// be gone.
func (t *tail) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records, t.bytes, t.previous = nil, 0, t.synced
}

// after returns at most limit records that follow a position, without a gap,
// and how many there are; ok is false if the tail does not reach back so far.
func (t *tail) after(position uint64, limit int) (records []record, behind int, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if position < t.previous {
		return nil, 0, false
	}
	i := sort.Search(len(t.records), func(i int) bool { return t.records[i].position > position })
	following := t.records[i:]
	return following[:min(limit, len(following))], len(following), true
}

// watch wakes a watcher for a stream's events, or for all if stream is empty.
// The caller calls stop once.
func (t *tail) watch(stream string) (w *watcher, stop func()) {
	w = &watcher{wake: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if stream == "" {
		t.all[w] = struct{}{}
	} else {
		if t.streams[stream] == nil {
			t.streams[stream] = make(map[*watcher]struct{})
		}
		t.streams[stream][w] = struct{}{}
	}
	return w, func() { t.unwatch(stream, w) }
}

func (t *tail) unwatch(stream string, w *watcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, w)
	delete(t.streams[stream], w)
	if len(t.streams[stream]) == 0 {
		delete(t.streams, stream)
	}
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
