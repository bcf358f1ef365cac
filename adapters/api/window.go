package api

import (
	"slices"
	"sync"
	"time"
)

// span is how long a call counts.
const span = time.Minute

// maxKeys is how many callers a window tells apart within two spans, in about
// 100 MB. Those that are new beyond it share with others of their pool.
const maxKeys = 1 << 20

// class is what a call counts against, a bit for each limit.
type class uint8

// classes is how many limits there are.
const classes = 4

func (c class) has(b int) bool { return c>>b&1 != 0 }

// stamp is when a call was made, in microseconds, and what it counts against.
type stamp uint64

func newStamp(at int64, c class) stamp { return stamp(at)<<classes | stamp(c) }

func (s stamp) at() int64      { return int64(s >> classes) }
func (s stamp) has(b int) bool { return class(s).has(b) }

// window holds the calls of each caller over the last span: when each was made,
// rather than a count that is estimated across the edges of fixed windows, so
// that the limits hold to the call. It is bounded: a caller has no more stamps
// than its limits allow calls, and beyond maxKeys new callers share. A caller
// that called within the span is never forgotten: those that did not go, a map
// at a time.
type window[K comparable] struct {
	limits [classes]int // calls in a span; 0: no limit
	keys   int          // maxKeys, but in tests
	pool   func(K) K    // whom a caller shares with where there are too many
	last   K            // whom all share with where there are too many pools

	mu     sync.Mutex
	now    int64 // never goes back
	turned int64 // when young was new
	young  map[K][]stamp
	old    map[K][]stamp // of callers not seen since turned
}

func newWindow[K comparable](limits [classes]int, pool func(K) K, last K) *window[K] {
	return &window[K]{limits: limits, keys: maxKeys, pool: pool, last: last, young: map[K][]stamp{}}
}

// taken is what a window says of a call.
type taken struct {
	stamp  stamp // as it counts; 0: it does not
	over   class // the limits that refuse it
	quotas [classes]quota
}

// quota is what is left of one limit.
type quota struct {
	limit int           // 0: none
	left  int           // further calls
	until time.Duration // until the oldest call that counts no longer does
}

// take counts a call at a time, and says whether it may go on. A refused call
// does not count against the limit that refuses it, so that who waits gets
// through, whoever else of the caller does not; against the others it does.
func (w *window[K]) take(key K, c class, at time.Duration) taken {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tick(at.Microseconds())
	key, log := w.log(key)
	var t taken
	for b, limit := range w.limits {
		if limit == 0 {
			c &^= 1 << b
		} else if c.has(b) && count(log, b) >= limit {
			t.over |= 1 << b
		}
	}
	if counted := c &^ t.over; counted != 0 {
		t.stamp = newStamp(w.now, counted)
		log = append(log, t.stamp)
	}
	for b, limit := range w.limits {
		if c.has(b) {
			t.quotas[b] = w.quota(log, b, limit)
		}
	}
	w.keep(key, log)
	return t
}

// refund takes a call back.
func (w *window[K]) refund(key K, s stamp) {
	if s == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key, log := w.log(key)
	for i, have := range slices.Backward(log) {
		if have == s {
			log = slices.Delete(log, i, i+1)
			break
		}
	}
	w.keep(key, log)
}

// tick moves on, and forgets those who did not call for a span.
func (w *window[K]) tick(now int64) {
	w.now = max(w.now, now)
	if w.now-w.turned >= span.Microseconds() {
		w.old, w.young, w.turned = w.young, map[K][]stamp{}, w.now
	}
}

// log returns the calls of a caller that still count, and whom they are kept
// under.
func (w *window[K]) log(key K) (K, []stamp) {
	key = w.keptUnder(key)
	log, ok := w.young[key]
	if !ok {
		log = w.old[key]
		delete(w.old, key)
	}
	since := w.now - span.Microseconds()
	gone := 0
	for gone < len(log) && log[gone].at() <= since {
		gone++
	}
	return key, slices.Delete(log, 0, gone)
}

func (w *window[K]) keep(key K, log []stamp) {
	if len(log) == 0 {
		delete(w.young, key)
		return
	}
	w.young[key] = log
}

// keptUnder is whom a caller's calls are kept under: itself, unless it is new
// and there are too many.
func (w *window[K]) keptUnder(key K) K {
	n := len(w.young) + len(w.old)
	if w.known(key) || n < w.keys {
		return key
	}
	if pool := w.pool(key); w.known(pool) || n < w.keys+w.keys/8 {
		return pool
	}
	return w.last
}

func (w *window[K]) known(key K) bool {
	if _, ok := w.young[key]; ok {
		return true
	}
	_, ok := w.old[key]
	return ok
}

func (w *window[K]) quota(log []stamp, b, limit int) quota {
	q := quota{limit: limit, left: limit - count(log, b), until: span}
	if i := slices.IndexFunc(log, func(s stamp) bool { return s.has(b) }); i >= 0 {
		q.until = time.Duration(log[i].at()-w.now)*time.Microsecond + span
	}
	return q
}

func count(log []stamp, b int) int {
	n := 0
	for _, s := range log {
		if s.has(b) {
			n++
		}
	}
	return n
}
