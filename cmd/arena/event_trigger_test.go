package main

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// eventTrigger counts events that bots report from running matches: upgrades,
// received requests and written answers. When the count reaches the chosen number,
// the bot that reports that event calls the function fire().
type eventTrigger struct {
	mu   sync.Mutex
	left int
	fire func()
	wait chan time.Time
}

// fireAfter waits until the given number of events have occurred and the trigger has
// called the function fire().
func (f *eventTrigger) fireAfter(t testing.TB, events int, fire func()) {
	t.Helper()
	fired := make(chan time.Time, 1)
	f.mu.Lock()
	f.left, f.fire = events, func() { fire(); fired <- time.Now() }
	f.mu.Unlock()
	awaitEvent(t, fired)
}

// next returns a channel that receives the time of the next event.
func (f *eventTrigger) next() <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wait = make(chan time.Time, 1)
	return f.wait
}

func (f *eventTrigger) count() {
	f.mu.Lock()
	if f.wait != nil {
		f.wait <- time.Now()
		f.wait = nil
	}
	f.left--
	fires := f.left == 0
	f.mu.Unlock()
	if fires {
		f.fire()
	}
}

func awaitEvent(t testing.TB, event <-chan time.Time) time.Time {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case at := <-event:
		return at
	case <-timer.C:
		require.FailNow(t, "no bot receives a request")
		return time.Time{}
	}
}

// pause lets real time pass, for tests that depend on real time.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}
