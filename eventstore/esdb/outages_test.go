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
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

// What reliability.md promises of an event store that is away.
const (
	allowedOverrun  = 100 * time.Millisecond
	allowedRecovery = 5 * time.Second
)

// looseOverrun is the bound of tests that run by the real clock on a machine
// that may be loaded. It is still shorter than the client's own search for a
// server. TestOutagesOfAnHour and make soak hold to allowedOverrun.
const looseOverrun = 1500 * time.Millisecond

// soaking says whether make soak runs, on a machine with nothing else to do.
func soaking() bool { return os.Getenv("ARENA_SOAK") != "" }

func requireOverrun(t *testing.T, overrun time.Duration, what string) {
	t.Helper()
	allowed := looseOverrun
	if soaking() {
		allowed = allowedOverrun
	}
	require.Less(t, overrun, allowed, what)
}

// Row: "event store away". Writers, readers and a subscriber work at the
// supervision's real pace through every kind of outage.
func TestOutages(t *testing.T) {
	t.Parallel()
	endure(t, 2*time.Second)
}

func TestSoakOutages(t *testing.T) {
	t.Parallel()
	if !soaking() {
		t.Skip("outages of minutes: run make soak")
	}
	endure(t, 10*time.Second, time.Minute, 3*time.Minute)
}

func endure(t *testing.T, durations ...time.Duration) {
	for _, k := range outage.Kinds {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			o := newOrdeal(t)
			for _, d := range durations {
				o.outage(k, d, false)
			}
			o.judge(k.String(), durations)
		})
	}
	for _, k := range []outage.Kind{outage.Hung, outage.Deaf} {
		t.Run(k.String()+", then cut", func(t *testing.T) {
			t.Parallel()
			o := newOrdeal(t)
			for _, d := range durations {
				o.outage(k, d, true)
			}
			o.judge(k.String()+", then cut", durations)
		})
	}
}

// ordeal is a log behind a proxy, and those who work with it.
type ordeal struct {
	t    *testing.T
	log  *Log
	p    *outage.Proxy
	m    *machine
	done context.Context // ends when no more is to be begun
	stop context.CancelFunc
	wg   sync.WaitGroup // the workers

	seed     uint64
	followed chan struct{} // closed when the subscriber has ended

	mu         sync.Mutex
	calls      int
	away       int           // of them: ended by their deadline
	overrun    time.Duration // the longest
	acked      map[eventstore.StreamID][]uuid.UUID
	seen       map[uuid.UUID]int // by the subscriber
	inOrder    bool
	recovered  map[string]chan time.Time
	recoveries []time.Duration
}

func newOrdeal(t *testing.T) *ordeal {
	p := outage.New(t, startNode(t))
	log := openDirect(t, p.Address())
	done, stop := context.WithCancel(t.Context())
	o := &ordeal{
		t: t, log: log, p: p, m: watchMachine(t), done: done, stop: stop, inOrder: true,
		acked: map[eventstore.StreamID][]uuid.UUID{}, seen: map[uuid.UUID]int{},
		followed: make(chan struct{}), recovered: map[string]chan time.Time{},
	}
	o.p.SetDelay(300 * time.Millisecond)
	o.seed = logtest.Seed(t)
	t.Cleanup(func() { // also of a test that has failed, before the log is closed
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

// work calls again and again, at deadlines of all kinds, until the ordeal ends.
func (o *ordeal) work(name string, call func(context.Context) error) {
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
			_ = wait(o.done, 2*time.Millisecond)
		}
	})
}

// call makes one call and measures how far beyond its deadline it returned.
func (o *ordeal) call(f func(context.Context) error, within time.Duration) error {
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

// writer appends one event after another. What it does not know to be stored it
// tries again, with the same id and the same expectation.
func (o *ordeal) writer(id eventstore.StreamID, expected eventstore.Expected) func(context.Context) error {
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

// follow subscribes until the event that is appended last.
func (o *ordeal) follow() {
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

// outage begins in the middle of work and takes d. With cut, what was held back
// is lost when it is over.
func (o *ordeal) outage(k outage.Kind, d time.Duration, cut bool) {
	require.NoError(o.t, wait(o.t.Context(), 500*time.Millisecond))
	o.p.Set(k)
	require.NoError(o.t, wait(o.t.Context(), d))
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

// awaitRecovery returns when each worker's call has succeeded once more, and
// notes how long after it was over the last one's did.
func (o *ordeal) awaitRecovery(over time.Time) {
	late := time.Duration(0)
	for name, back := range o.recovered {
		ctx, cancel := context.WithTimeout(o.t.Context(), testPatience)
		select {
		case at := <-back:
			late = max(late, at.Sub(over))
		case <-ctx.Done():
			require.Fail(o.t, "never back: "+name)
		}
		cancel()
	}
	o.recoveries = append(o.recoveries, late.Round(time.Millisecond))
}

// judge ends the work and compares what was acknowledged with what is stored.
func (o *ordeal) judge(what string, durations []time.Duration) {
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
		// At most the last one's outcome was not known when the work ended.
		require.LessOrEqual(o.t, len(stored), len(ids)+1)
		require.Equal(o.t, ids, stored[:len(ids)], "order of %s", id)
	}
	reconnects := value(o.t, o.log.metrics.reconnects)
	o.t.Logf("%s for %v: %d calls, %d of them ended by their deadline, max overrun %v; all callers were back after %v; "+
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
		require.Zero(o.t, reconnects, "a slow log is there")
	}
}

// oneConnection is more goroutines than a connection has, at both its ends and
// in the proxy between; fewer than one for each outage of the test.
const oneConnection = 8

// An open log has no more goroutines after many outages than before them, but
// for a connection that may be on its way.
func TestOutagesLeaveNoGoroutines(t *testing.T) {
	const rounds = 2
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
	require.NoError(t, log.Ping(t.Context())) // it is connected, also on a slow machine
	before, n := runtime.NumGoroutine(), 0
	for range rounds {
		for _, k := range outage.Kinds {
			p.Set(k)
			calls(200 * time.Millisecond)
			p.Set(outage.None)
			require.NoError(t, log.Ping(t.Context()))
			n++
		}
	}
	after := func() int { return runtime.NumGoroutine() }
	require.Eventually(t, func() bool { return after() <= before+oneConnection }, testPatience, 10*time.Millisecond, "%d goroutines before", before)
	t.Logf("%d outages, %d calls at once in each: %d goroutines before, %d after", n, len(everyCall), before, after())
}
