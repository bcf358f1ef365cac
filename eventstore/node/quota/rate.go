package quota

import (
	"sync"
	"time"
)

// Rate allows a burst of events, and then one event per interval.
type Rate struct {
	Burst int
	Every time.Duration
}

// Meter limits how often something happens, in total and in each network. Safe for
// concurrent use.
type Meter struct {
	total, each Rate

	mu      sync.Mutex
	all     time.Time            // when the total allowance is whole again
	whole   map[string]time.Time // the same for each network
	refused uint64
}

// NewMeter returns a meter with the rates of everyone together and of each network.
func NewMeter(total, each Rate) *Meter {
	return &Meter{total: total, each: each, whole: map[string]time.Time{}}
}

// Take uses n events of a network's allowance. If too few are left, it uses none, and
// returns how long the network has to wait for them. n must not exceed a burst.
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

// after returns when an allowance will be whole again if it is used n times now, and
// how long it is too early for that.
func (r Rate) after(whole time.Time, n int, now time.Time) (time.Time, time.Duration) {
	if whole.Before(now) {
		whole = now
	}
	whole = whole.Add(time.Duration(n) * r.Every)
	return whole, max(0, whole.Sub(now)-time.Duration(r.Burst)*r.Every)
}

// remembered is the number of networks from which on the meter forgets those whose
// allowance is whole. The total rate bounds the others.
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

// Refused returns how often Take returned a wait.
func (m *Meter) Refused() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}
