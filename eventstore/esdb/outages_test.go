package esdb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

// These constants limit how far a call may overrun its deadline during an outage,
// and how long callers may take to succeed again after the outage.
const (
	allowedOverrun  = 100 * time.Millisecond
	allowedRecovery = 5 * time.Second
)

// looseOverrun is the bound for tests that use the real clock, because the machine may
// be loaded. It is still shorter than the client's own discovery. TestOutagesOfAnHour
// and "make soak" use allowedOverrun instead.
const looseOverrun = 1500 * time.Millisecond

// The function soaking reports whether "make soak" started the test. The machine
// must then be otherwise idle.
func soaking() bool { return os.Getenv("ARENA_SOAK") != "" }

func requireOverrun(t *testing.T, overrun time.Duration, what string) {
	t.Helper()
	allowed := looseOverrun
	if soaking() {
		allowed = allowedOverrun
	}
	require.Less(t, overrun, allowed, what)
}

// Writers, readers and a subscriber keep working through every kind of outage. The
// Log uses the same timeouts as in production.
func TestOutages(t *testing.T) {
	t.Parallel()
	runOutages(t, 2*time.Second)
}

func TestSoakOutages(t *testing.T) {
	t.Parallel()
	if !soaking() {
		t.Skip("takes minutes: run make soak")
	}
	runOutages(t, 10*time.Second, time.Minute, 3*time.Minute)
}

func runOutages(t *testing.T, durations ...time.Duration) {
	for _, k := range outage.Kinds {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			o := newOutageTest(t)
			for _, d := range durations {
				o.outage(k, d, false)
			}
			o.finish(k.String(), durations)
		})
	}
	for _, k := range []outage.Kind{outage.Hung, outage.OneWay} {
		t.Run(k.String()+", then cut", func(t *testing.T) {
			t.Parallel()
			o := newOutageTest(t)
			for _, d := range durations {
				o.outage(k, d, true)
			}
			o.finish(k.String()+", then cut", durations)
		})
	}
}

// outageTest is a log behind a proxy, with workers that use it.
type outageTest struct {
	t    *testing.T
	log  *Log
	p    *outage.Proxy
	m    *stallWatch
	done context.Context // ends when the workers must stop
	stop context.CancelFunc
	wg   sync.WaitGroup // the workers

	seed     uint64
	followed chan struct{} // closes when the subscriber has ended

	mu         sync.Mutex
	calls      int
	away       int           // calls that ended at their deadline
	overrun    time.Duration // the longest overrun of a deadline
	acked      map[eventstore.StreamID][]uuid.UUID
	seen       map[uuid.UUID]int // how many times the subscriber has seen each event
	inOrder    bool
	recovered  map[string]chan time.Time
	recoveries []time.Duration
}

func newOutageTest(t *testing.T) *outageTest {
	p := outage.New(t, startNode(t))
	log := openDirect(t, p.Address())
	done, stop := context.WithCancel(t.Context())
	o := &outageTest{
		t: t, log: log, p: p, m: watchStalls(t), done: done, stop: stop, inOrder: true,
		acked: map[eventstore.StreamID][]uuid.UUID{}, seen: map[uuid.UUID]int{},
		followed: make(chan struct{}), recovered: map[string]chan time.Time{},
	}
	o.p.SetDelay(300 * time.Millisecond)
	o.seed = logtest.Seed(t)
	t.Cleanup(func() { // runs even if the test fails, before the log closes
		o.stop()
		o.wg.Wait()
		<-o.followed
	})
	go o.follow()
	for i := range 3 {
		o.work(fmt.Sprintf("writer %d", i), o.writer(eventstore.StreamID(fmt.Sprintf("exact-%d", i)), eventstore.NoStream))
	}
	o.work("writer at any", o.writer("any", eventstore.Any))
	o.work("reader", func(ctx context.Context) error { return last(log.Read(ctx, "exact-0", 0, eventstore.ReadOptions{})) })
	o.work("reader of all", func(ctx context.Context) error {
		return last(log.ReadAll(ctx, eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 20}))
	})
	o.awaitRecovery(time.Now())
	o.recoveries = nil
	return o
}

var deadlines = []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, time.Second, 2500 * time.Millisecond}

// The method work() starts a worker. The worker makes one call after another, with
// various deadlines, until the test ends.
func (o *outageTest) work(name string, call func(context.Context) error) {
	back := make(chan time.Time, 1)
	o.recovered[name] = back
	rng := rand.New(rand.NewPCG(o.seed, uint64(len(o.recovered))))
	o.wg.Go(func() {
		for o.done.Err() == nil {
			if err := o.call(call, deadlines[rng.IntN(len(deadlines))]); err == nil {
				select {
				case back <- time.Now():
				default:
				}
			} else if !errors.Is(err, eventstore.ErrUnavailable) {
				o.t.Errorf("%s: %v", name, err)
				return
			}
			_ = eventstore.Sleep(o.done, 2*time.Millisecond)
		}
	})
}

// call makes one call and measures how far it overran its deadline.
func (o *outageTest) call(f func(context.Context) error, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	late, err := o.m.overrun(ctx, f)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	o.overrun = max(o.overrun, late)
	if err != nil {
		o.away++
	}
	return err
}

// writer appends one event after another. While the outcome of an append is
// unknown, it sends the event again with the same id and the same expected
// revision.
func (o *outageTest) writer(id eventstore.StreamID, expected eventstore.Expected) func(context.Context) error {
	next := events(1)
	return func(ctx context.Context) error {
		appended, err := o.log.Append(ctx, id, expected, next...)
		if err != nil {
			return err
		}
		o.mu.Lock()
		o.acked[id] = append(o.acked[id], next[0].ID)
		if int(appended.Revision) != len(o.acked[id])-1 {
			err = fmt.Errorf("event %d of %s is at revision %d", len(o.acked[id])-1, id, appended.Revision)
		}
		o.mu.Unlock()
		next = events(1)
		if expected != eventstore.Any {
			expected = eventstore.At(appended.Revision)
		}
		return err
	}
}

// follow reads a subscription until the last event of the test.
func (o *outageTest) follow() {
	defer close(o.followed)
	after := eventstore.Position(0)
	for m, err := range o.log.Subscribe(o.t.Context(), 0, eventstore.Filter{}) {
		if err != nil {
			o.t.Errorf("subscriber: %v", err)
			return
		}
		if m.Event == nil {
			continue
		}
		o.mu.Lock()
		o.inOrder = o.inOrder && m.Event.Position > after
		after = m.Event.Position
		o.seen[m.Event.ID]++
		o.mu.Unlock()
		if m.Event.Stream == "end" {
			return
		}
	}
}

// The method outage() begins an outage that lasts d. If cut is true, the waiting data
// is lost when the outage ends.
func (o *outageTest) outage(k outage.Kind, d time.Duration, cut bool) {
	require.NoError(o.t, eventstore.Sleep(o.t.Context(), 500*time.Millisecond))
	o.p.Set(k)
	require.NoError(o.t, eventstore.Sleep(o.t.Context(), d))
	for _, back := range o.recovered {
		select {
		case <-back:
		default:
		}
	}
	over := time.Now()
	if cut {
		o.p.Cut()
	}
	o.p.Set(outage.None)
	o.awaitRecovery(over)
}

// awaitRecovery waits until each worker has succeeded again. It records how
// long the last worker took after the end of the outage.
func (o *outageTest) awaitRecovery(over time.Time) {
	late := time.Duration(0)
	for name, back := range o.recovered {
		ctx, cancel := context.WithTimeout(o.t.Context(), testPatience)
		select {
		case at := <-back:
			late = max(late, at.Sub(over))
		case <-ctx.Done():
			require.Fail(o.t, "no call succeeded after the outage: "+name)
		}
		cancel()
	}
	o.recoveries = append(o.recoveries, late.Round(time.Millisecond))
}

// finish stops the workers and compares the acknowledged events with the stored
// ones.
func (o *outageTest) finish(what string, durations []time.Duration) {
	o.stop()
	o.wg.Wait()
	direct := openDirect(o.t, o.p.Target())
	_, err := direct.Append(o.t.Context(), "end", eventstore.NoStream, events(1)...)
	require.NoError(o.t, err)
	<-o.followed
	acknowledged, lost, doubled := 0, 0, 0
	for id, ids := range o.acked {
		var stored []uuid.UUID
		for r, err := range direct.Read(o.t.Context(), id, 0, eventstore.ReadOptions{}) {
			require.NoError(o.t, err)
			stored = append(stored, r.ID)
		}
		times := map[uuid.UUID]int{}
		for _, id := range stored {
			times[id]++
		}
		for _, id := range ids {
			acknowledged++
			lost += 1 - min(1, times[id])
			doubled += max(0, times[id]-1)
			require.Equal(o.t, 1, o.seen[id], "seen by the subscriber")
		}
		// The log may hold one more event than the writer's known appends, because
		// only the outcome of the last append may be unknown.
		require.LessOrEqual(o.t, len(stored), len(ids)+1)
		require.Equal(o.t, ids, stored[:len(ids)], "order of %s", id)
	}
	reconnects := value(o.t, o.log.metrics.reconnects)
	o.t.Logf("%s for %v: %d calls, %d of them ended at their deadline, max overrun %v; all callers recovered after %v; "+
		"%d events acknowledged, %d lost, %d doubled; the subscription saw each once, in order: %t; %.0f reconnects",
		what, durations, o.calls, o.away, o.overrun.Round(time.Microsecond), o.recoveries, acknowledged, lost, doubled, o.inOrder, reconnects)
	require.Zero(o.t, lost)
	require.Zero(o.t, doubled)
	require.True(o.t, o.inOrder)
	requireOverrun(o.t, o.overrun, what)
	if soaking() {
		require.Less(o.t, slices.Max(o.recoveries), allowedRecovery)
	}
	if what == outage.Slow.String() {
		require.Zero(o.t, reconnects, "a slow log is available")
	}
}

// oneConnection is an upper bound for the number of goroutines that serve one
// connection, at both ends and in the proxy. The test makes more outages than this
// number, so it detects a leak of one goroutine per outage.
const oneConnection = 8

// After many outages, an open log has as many goroutines as before, except for
// those of a connection that is still being set up, and those that wait for work.
func TestOutagesLeaveNoGoroutines(t *testing.T) {
	const rounds = 3
	log, p := openThrough(t)
	calls := func(within time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		var wg sync.WaitGroup
		for _, call := range everyCall {
			wg.Go(func() { _ = call(ctx, log) })
		}
		wg.Wait()
	}
	calls(time.Second)
	require.NoError(t, log.Ping(t.Context())) // so that the log is connected even on a slow machine
	count := func() int { return runtime.NumGoroutine() - int(log.waiting.Load()) }
	before, n := count(), 0
	old := goleak.IgnoreCurrent()
	waiting := goleak.IgnoreTopFunction("hexarena/eventstore/esdb.(*Log).next")
	for range rounds {
		for _, k := range outage.Kinds {
			p.Set(k)
			calls(200 * time.Millisecond)
			p.Set(outage.None)
			require.NoError(t, log.Ping(t.Context()))
			n++
		}
	}
	if !assert.Eventually(t, func() bool { return count() <= before+oneConnection }, testPatience, 10*time.Millisecond, "%d goroutines before", before) {
		t.Fatalf("new goroutines: %v", goleak.Find(old, waiting))
	}
	t.Logf("%d outages, %d calls at once in each: %d goroutines before, %d after", n, len(everyCall), before, count())
}

// At most maxWaiting goroutines of a Log wait for work, however many calls there were at
// once.
func TestFewGoroutinesWaitForWork(t *testing.T) {
	log := openAt(t, startNode(t), brisk)
	const calls = 2 * maxWaiting
	end := make(chan struct{})
	defer close(end) // so that the log can be closed even if the test fails
	for range calls {
		require.True(t, log.start(func() { <-end }))
	}
	for n := range calls {
		end <- struct{}{}
		want := min(n+1, maxWaiting)
		require.Eventually(t, func() bool { return int(log.waiting.Load()) == want }, testPatience, time.Millisecond)
	}
	require.NoError(t, log.Close())
	require.Zero(t, log.waiting.Load())
}
