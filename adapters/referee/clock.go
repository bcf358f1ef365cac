package referee

import (
	"context"
	"sync"
	"time"
)

const (
	beatEvery = 250 * time.Millisecond // how often the clock reads the time on its own
	longGap   = time.Second            // if two reads are further apart than this, the process was paused
)

// clock measures the time during which this process is running. If the process is
// paused, for example by SIGSTOP, two reads of the time are far apart. In that case, the
// clock advances only by one beat, so the pause does not use up the time of a decision or
// of a match. This works only if the time is read often; see beat. While the machine is
// suspended, the monotonic clock may stand still, so that pause does not count either.
// The clock does not advance while the gate is closed (see Options.Gate).
type clock struct {
	time func() time.Time // monotonic
	gate func() <-chan struct{}

	mu     sync.Mutex // guards the fields below
	start  time.Time
	last   time.Time
	paused time.Duration // sum of the pauses
}

func newClock(now func() time.Time, gate func() <-chan struct{}) *clock {
	t := now()
	return &clock{time: now, gate: gate, start: t, last: t}
}

// The method now() returns how long this process has been running since the clock was
// created.
func (c *clock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.time()
	switch gap := t.Sub(c.last); {
	case c.gate() != nil:
		c.paused += gap
	case gap > longGap:
		c.paused += gap - beatEvery
	}
	c.last = t
	return t.Sub(c.start) - c.paused
}

// beat reads the clock at regular intervals in the background until stop is called.
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

// wait returns when the clock reaches the given time, when done is closed, or when ctx
// ends.
func (c *clock) wait(ctx context.Context, until time.Duration, done <-chan struct{}) {
	for {
		left := until - c.now()
		if left <= 0 {
			return
		}
		var reached <-chan time.Time
		closed := c.gate()
		if closed == nil {
			reached = time.After(left)
		}
		select {
		case <-reached:
		case <-closed: // the gate has opened, so the clock runs again
		case <-done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// withDeadline returns a context that ends when the clock reaches the given time. Unlike
// the deadline of context.WithTimeout, this one does not pass while the process is paused
// or the gate is closed.
func (c *clock) withDeadline(ctx context.Context, until time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	timer := time.AfterFunc(until-c.now(), func() {
		defer end()
		c.wait(ctx, until, nil) // waits for the rest if the clock stood still
	})
	return ctx, func() { timer.Stop(); end() }
}

// awaitGate waits until the gate is open. It returns false if ctx ends first.
func (c *clock) awaitGate(ctx context.Context) bool {
	for closed := c.gate(); closed != nil && ctx.Err() == nil; closed = c.gate() {
		select {
		case <-closed:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
