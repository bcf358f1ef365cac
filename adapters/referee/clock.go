package referee

import (
	"context"
	"sync"
	"time"
)

// The clock's heartbeat, and the silence after which this process must have
// stood still.
const (
	beatEvery = 250 * time.Millisecond
	stillness = time.Second
)

// clock measures the time during which this process ran. A longer gap between
// its readings (SIGSTOP, a suspended machine) counts as one beat, so that
// nobody is charged for it: not in a decision, not in the wall clock. Its
// beat reads it often enough for gaps to mean that.
type clock struct {
	time func() time.Time // monotonic

	mu    sync.Mutex // guards what follows
	start time.Time
	last  time.Time
	still time.Duration // sum of the gaps
}

func newClock(now func() time.Time) *clock {
	t := now()
	return &clock{time: now, start: t, last: t}
}

// now is how long this process ran since the clock was made.
func (c *clock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.time()
	if gap := t.Sub(c.last); gap > stillness {
		c.still += gap - beatEvery
	}
	c.last = t
	return t.Sub(c.start) - c.still
}

// beat reads the clock regularly until stop is called.
func (c *clock) beat() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	c.now()
	go func() {
		t := time.NewTicker(beatEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				c.now()
			case <-ctx.Done():
				return
			}
		}
	}()
	return cancel
}

// wait returns when the clock shows until, done is closed or ctx ends.
func (c *clock) wait(ctx context.Context, until time.Duration, done <-chan struct{}) {
	for {
		left := until - c.now()
		if left <= 0 {
			return
		}
		select {
		case <-time.After(left):
		case <-done:
			return
		case <-ctx.Done():
			return
		}
	}
}
