package main

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fuse counts the moments of running matches: an upgrade, a request that came
// in, an answer that was written. Whoever reports the moment that it has burnt
// down by, fires.
type fuse struct {
	mu   sync.Mutex
	left int
	fire func()
	wait chan time.Time
}

// burn has fire called after a number of moments, and returns then.
func (f *fuse) burn(t testing.TB, moments int, fire func()) {
	t.Helper()
	fired := make(chan time.Time, 1)
	f.mu.Lock()
	f.left, f.fire = moments, func() { fire(); fired <- time.Now() }
	f.mu.Unlock()
	awaitMoment(t, fired)
}

// next receives the time of the next moment.
func (f *fuse) next() <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wait = make(chan time.Time, 1)
	return f.wait
}

func (f *fuse) moment() {
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

func awaitMoment(t testing.TB, moment <-chan time.Time) time.Time {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case at := <-moment:
		return at
	case <-timer.C:
		require.FailNow(t, "no bot is asked")
		return time.Time{}
	}
}

// pause lets real time pass, where that is what is tested.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}
