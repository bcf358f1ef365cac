package esdb

import (
	"context"
	"sync"
	"testing"
	"time"
)

// machine tells how long the machine, or this process on it, stood still: what
// is late by that is not late by its own doing.
type machine struct {
	mu     sync.Mutex
	beat   chan struct{}  // closed with the next beat
	stalls [][2]time.Time // between two beats that were far apart
}

// watchMachine watches until the test ends.
func watchMachine(t *testing.T) *machine {
	m := &machine{beat: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		before := time.Now()
		for {
			select {
			case <-tick.C:
				before = m.note(before)
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return m
}

func (m *machine) note(before time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Sub(before) > 8*time.Millisecond {
		m.stalls = append(m.stalls, [2]time.Time{before, now})
	}
	close(m.beat)
	m.beat = make(chan struct{})
	return now
}

// ran is how much of the time between two moments the machine did not stand
// still.
func (m *machine) ran(from, to time.Time) time.Duration {
	ran := to.Sub(from)
	if ran < 8*time.Millisecond {
		return ran
	}
	m.mu.Lock()
	next := m.beat
	m.mu.Unlock()
	<-next
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.stalls {
		first, last := s[0], s[1]
		if first.Before(from) {
			first = from
		}
		if last.After(to) {
			last = to
		}
		ran -= max(0, last.Sub(first))
	}
	return ran
}

// overrun calls f and returns how far beyond its context's end it returned. A
// goroutine that waits for nothing but that end tells when the news came.
func (m *machine) overrun(ctx context.Context, f func(context.Context) error) (time.Duration, error) {
	ended := make(chan time.Time, 1)
	stop := context.AfterFunc(ctx, func() { ended <- time.Now() })
	err := f(ctx)
	back := time.Now()
	if stop() {
		return 0, err
	}
	return max(0, m.ran(<-ended, back)), err
}
