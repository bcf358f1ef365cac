package membership

import (
	"sync"
	"time"
)

// gate is open for gateTime after the start of a heartbeat, by the monotonic clock and by
// the wall clock of this process. While a machine is suspended, its monotonic clock may
// stand still, but its wall clock does not. If somebody sets the wall clock forward, the
// gate closes until the next heartbeat, which does no harm.
type gate struct {
	wall func() time.Time // the wall clock

	mu     sync.Mutex    // guards the fields below
	beat   time.Time     // the start of the heartbeat; the zero value before the first one and after close
	opened chan struct{} // closed, and replaced, at each heartbeat after which the gate is open
}

func newGate() *gate {
	return &gate{wall: func() time.Time { return time.Now().Round(0) }, opened: make(chan struct{})}
}

// The method closed() returns nil if the gate is open. Otherwise, it returns a channel
// that is closed when the gate opens.
func (g *gate) closed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen() {
		return nil
	}
	return g.opened
}

// isOpen reports whether the gate is open. The caller must hold g.mu.
func (g *gate) isOpen() bool {
	return time.Since(g.beat) < gateTime && g.wall().Sub(g.beat.Round(0)) < gateTime
}

// extend keeps an open gate open after a heartbeat. It returns false if the gate is
// closed.
func (g *gate) extend(beat time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isOpen() {
		return false
	}
	g.hold(beat)
	return true
}

// open opens a closed gate after a heartbeat.
func (g *gate) open(beat time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold(beat)
}

// hold keeps the gate open after a heartbeat. It wakes callers even if the gate is open
// now: a wrong wall clock may have closed it for a moment. The caller must hold g.mu.
func (g *gate) hold(beat time.Time) {
	g.beat = beat
	close(g.opened)
	g.opened = make(chan struct{})
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.beat = time.Time{}
}
