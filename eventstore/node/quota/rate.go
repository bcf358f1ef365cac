package quota

import (
	"sync"
	"time"
)

// Rate allows a burst of events and then one event per interval.
type Rate struct {
	Burst int
	Every time.Duration
}

// Meter limits how often something happens, in total and for each network. A Meter
// is safe for concurrent use.
type Meter struct {
	total, each Rate

	mu      sync.Mutex
	all     time.Time            // when the total allowance is full again
	whole   map[string]time.Time // the same time for each network
	refused uint64
}

// NewMeter returns a meter with a rate for all networks together and a rate for
// each network.
func NewMeter(total, each Rate) *Meter {
	return &Meter{total: total, each: each, whole: map[string]time.Time{}}
}

// Take deducts n events from a network's allowance and from the total allowance. If too
// few are left, it deducts nothing and returns how long the network has to wait. n must
// not exceed the burst of either rate.
func (m *Meter) Take(network string, n int, now time.Time) (wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, waitAll := m.total.after(m.all, n, now)
	own, waitOwn := m.each.after(m.whole[network], n, now)
	if wait = max(waitAll, waitOwn); wait > 0 {
		m.refused++
		return wait
	}
	m.forget(now)
	m.all, m.whole[network] = all, own
	return 0
}

// The method after() returns the time at which an allowance will be full again if n
// events are deducted now. It also returns how long the caller must wait before it
// may deduct them.
func (r Rate) after(whole time.Time, n int, now time.Time) (time.Time, time.Duration) {
	if whole.Before(now) {
		whole = now
	}
	whole = whole.Add(time.Duration(n) * r.Every)
	return whole, max(0, whole.Sub(now)-time.Duration(r.Burst)*r.Every)
}

// Once the meter knows this many networks, it forgets those whose allowance is full
// again. The total rate limits how many networks remain.
const remembered = 1024

func (m *Meter) forget(now time.Time) {
	if len(m.whole) < remembered {
		return
	}
	for network, whole := range m.whole {
		if !whole.After(now) {
			delete(m.whole, network)
		}
	}
}

// Refused returns how often Take told the caller to wait.
func (m *Meter) Refused() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}
