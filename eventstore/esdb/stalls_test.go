package esdb

import (
	"context"
	"sync"
	"testing"
	"time"
)

// stallWatch measures how long the machine or this process was paused. A test
// subtracts the pauses from a measured delay, because the code under test did not
// cause them.
type stallWatch struct {
	mu     sync.Mutex
	beat   chan struct{}  // closes at the next beat
	stalls [][2]time.Time // beginning and end of each long gap between two beats
}

// watchStalls starts a stallWatch that runs until the test ends.
func watchStalls(t *testing.T) *stallWatch {
	m := &stallWatch{beat: make(chan struct{})}
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

func (m *stallWatch) note(before time.Time) time.Time {
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

// The method ran() returns how long the machine was running between two points in
// time.
func (m *stallWatch) ran(from, to time.Time) time.Duration {
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

// overrun calls f and returns how long f ran after the end of its context. A second
// goroutine, which only waits for the context, measures when this process could
// notice that the context had ended.
func (m *stallWatch) overrun(ctx context.Context, f func(context.Context) error) (time.Duration, error) {
	ended := make(chan time.Time, 1)
	stop := context.AfterFunc(ctx, func() { ended <- time.Now() })
	err := f(ctx)
	back := time.Now()
	if stop() {
		return 0, err
	}
	return max(0, m.ran(<-ended, back)), err
}
