package ratelimit

import (
	"slices"
	"sync"
	"time"
)

// span is how long a call counts against a limit.
const span = time.Minute

// maxKeys is the number of callers that a window counts separately within two spans.
// That many callers use about 100 MB. If there are more, new callers share the key of
// their pool.
const maxKeys = 1 << 20

// Class is a set of the limits that a call counts against, one bit each.
type Class uint8

// The constant classes is the number of limits.
const classes = 5

func (c Class) has(b int) bool { return c>>b&1 != 0 }

// stamp contains the time of a call, in microseconds, and the call's class.
type stamp uint64

func newStamp(at int64, c Class) stamp { return stamp(at)<<classes | stamp(c) }

func (s stamp) at() int64      { return int64(s >> classes) }
func (s stamp) has(b int) bool { return Class(s).has(b) }

// window stores the time of each caller's calls during the last span. Because it knows
// the time of each call, the limits are exact. Fixed windows could only estimate the
// number of calls in a minute that begins in the middle of a window
// (docs/adr/0015-an-exact-window-for-rate-limits.md).
//
// The memory of a window is bounded. For each caller, it stores at most one stamp for
// each call that the limits allow, plus the stamps of one heavy call, which counts as
// several calls. Once there are maxKeys callers, new callers share keys. A window never
// forgets a caller that made a call within the last span. It drops the other callers a
// whole map at a time.
type window[K comparable] struct {
	limits [classes]int // number of calls in a span; 0 means no limit
	keys   int          // maxKeys, except in tests
	pool   func(K) K    // returns the key that a new caller shares if there are too many callers
	last   K            // the key that all new callers share if there are too many pool keys

	mu     sync.Mutex
	now    int64 // never decreases
	turned int64 // when young was created
	young  map[K][]stamp
	old    map[K][]stamp // callers that have made no call since turned
}

func newWindow[K comparable](limits [classes]int, pool func(K) K, last K) *window[K] {
	return &window[K]{limits: limits, keys: maxKeys, pool: pool, last: last, young: map[K][]stamp{}}
}

// The type taken contains the result of counting a call.
type taken struct {
	stamp  stamp // time of the call, and the limits that it counts against; 0 if it counts against no limit
	over   Class // the limits that the call exceeds
	quotas [classes]quota
}

// quota says how much of one limit is left.
type quota struct {
	limit int           // 0 means no limit
	left  int           // number of remaining calls
	until time.Duration // time until the value of left rises
}

// take counts a call as n calls (docs/adr/0042-one-address-has-a-bounded-share.md). A
// refused call does not count against the limit that refuses it, but it counts against
// the other limits. So a client that waits is accepted, even if another client with the
// same address or account keeps calling.
//
// A call is accepted if at least one call is left, even if fewer than n calls are left.
// The caller must then wait until enough of its calls have stopped counting.
func (w *window[K]) take(key K, c Class, n int, at time.Duration) taken {
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
	if t.over != 0 {
		n = 1 // a refused call costs the arena nothing, so it counts as a single call
	}
	if counted := c &^ t.over; counted != 0 {
		t.stamp = newStamp(w.now, counted)
		log = append(log, slices.Repeat([]stamp{t.stamp}, n)...)
	}
	for b, limit := range w.limits {
		if c.has(b) {
			t.quotas[b] = w.quota(log, b, limit)
		}
	}
	w.store(key, log)
	return t
}

// refund removes a counted call.
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
	w.store(key, log)
}

// tick advances the time, and drops the callers that have made no call for a span.
func (w *window[K]) tick(now int64) {
	w.now = max(w.now, now)
	if w.now-w.turned >= span.Microseconds() {
		w.old, w.young, w.turned = w.young, map[K][]stamp{}, w.now
	}
}

// log returns those calls of a caller that still count, and the key under which they
// are stored.
func (w *window[K]) log(key K) (K, []stamp) {
	key = w.storageKey(key)
	log, ok := w.young[key]
	if !ok {
		log = w.old[key]
		delete(w.old, key)
	}
	since := w.now - span.Microseconds()
	expired := 0
	for expired < len(log) && log[expired].at() <= since {
		expired++
	}
	return key, slices.Delete(log, 0, expired)
}

func (w *window[K]) store(key K, log []stamp) {
	if len(log) == 0 {
		delete(w.young, key)
		return
	}
	w.young[key] = log
}

// storageKey returns the key under which a caller's calls are stored. It is the
// caller's own key unless the caller is new and there are too many callers.
func (w *window[K]) storageKey(key K) K {
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
	skip := max(0, -q.left) // number of calls over the limit; greater than 0 only after a call that counted as several
	for _, s := range log {
		if !s.has(b) {
			continue
		}
		if skip == 0 {
			q.until = time.Duration(s.at()-w.now)*time.Microsecond + span
			break
		}
		skip--
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
