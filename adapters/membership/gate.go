package membership

import (
	"sync"
	"time"
)

// gate is open for gateTime after the start of a heartbeat, on the monotonic clock of
// this process.
type gate struct {
	mu     sync.Mutex // guards the fields below
	until  time.Time
	opened chan struct{} // closed, and replaced, when the gate opens
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

// The method closed() returns nil if the gate is open. Otherwise, it returns a channel
// that is closed when the gate opens.
func (g *gate) closed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return nil
	}
	return g.opened
}

// extend keeps an open gate open after a heartbeat. It returns false if the gate is
// closed.
func (g *gate) extend(beat time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !time.Now().Before(g.until) {
		return false
	}
	g.until = beat.Add(gateTime)
	return true
}

// open opens a closed gate after a heartbeat.
func (g *gate) open(beat time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = beat.Add(gateTime)
	close(g.opened)
	g.opened = make(chan struct{})
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = time.Time{}
}
