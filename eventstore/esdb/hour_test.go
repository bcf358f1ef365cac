package esdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/logtest/outage"
)

// fakeServer is a server that has outages and runs on the clock of a synctest
// bubble. Clients see what a real server would show them: a call without a response
// ends only when it is cancelled, and a failed discovery takes two seconds.
type fakeServer struct {
	mu      sync.Mutex
	kind    outage.Kind
	changed chan struct{}
	sound   map[*es.Client]bool // clients whose connection works; data from other clients is lost
	dials   int
}

func newFakeServer() *fakeServer {
	return &fakeServer{changed: make(chan struct{}), sound: map[*es.Client]bool{}}
}

func (a *fakeServer) set(k outage.Kind) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kind = k
	if k != outage.None && k != outage.Hung {
		clear(a.sound)
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

var errGone = status.Error(codes.Unavailable, "connection refused")

// answer waits until the server can respond, or until the context ends.
func (a *fakeServer) answer(ctx context.Context, sound func() bool) error {
	for {
		a.mu.Lock()
		kind, changed, ok := a.kind, a.changed, sound()
		a.mu.Unlock()
		switch {
		case kind == outage.Refused:
			return errGone
		case kind == outage.BlackHoled, !ok:
			<-ctx.Done() // data is lost forever, as it is when a router has dropped the connection
			return ctx.Err()
		case kind == outage.None:
			return eventstore.Sleep(ctx, time.Millisecond)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (a *fakeServer) dial(config es.Configuration) (*es.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	a.mu.Lock()
	a.dials++
	a.mu.Unlock()
	client, err := es.NewClient(&config)
	if err != nil {
		return nil, err
	}
	if err := a.answer(ctx, func() bool { return true }); err != nil {
		return client, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sound[client] = true
	return client, nil
}

func (a *fakeServer) call(ctx context.Context, c *es.Client) error {
	_, _ = ctx.Deadline() // as the client does when it has its connection
	return a.answer(ctx, func() bool { return a.sound[c] })
}

// Outages last up to an hour, on the clock of a synctest bubble. During an outage,
// each call returns at its deadline. All callers succeed again within five seconds
// after the outage ends.
func TestOutagesOfAnHour(t *testing.T) {
	seed := logtest.Seed(t)
	for _, k := range []outage.Kind{outage.Refused, outage.Hung, outage.BlackHoled} {
		t.Run(k.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { outlast(t, k, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func outlast(t *testing.T, k outage.Kind, rng *rand.Rand) {
	server := newFakeServer()
	config, err := parse("esdb://server?tls=false")
	require.NoError(t, err)
	log := open(config, slog.New(slog.DiscardHandler), defaultPace)
	log.dial, log.probe = server.dial, server.call
	c := callers{t: t, log: log, server: server}
	began := time.Now()
	for _, d := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour} {
		n := 10
		if d < time.Minute {
			n = 60
		}
		for range n {
			c.outage(k, d+time.Duration(rng.Int64N(int64(2*time.Second))), rng)
		}
	}
	require.NoError(t, log.Close())
	slices.Sort(c.recoveries)
	t.Logf("%s: %d outages of 0.1 s to 1 h, %v in all: %d calls, %d of them ended at their deadline, max overrun %v; "+
		"all callers recovered after median %v, max %v; at most %.1f attempts to connect per second",
		k, len(c.recoveries), time.Since(began).Round(time.Minute), c.calls, c.late, c.overrun,
		c.recoveries[len(c.recoveries)/2].Round(time.Millisecond), c.recoveries[len(c.recoveries)-1].Round(time.Millisecond), c.rate)
	require.LessOrEqual(t, c.overrun, allowedOverrun)
	require.LessOrEqual(t, c.recoveries[len(c.recoveries)-1], allowedRecovery)
	require.LessOrEqual(t, c.rate, 25.0)
}

// callers make calls continuously, with random deadlines.
type callers struct {
	t      *testing.T
	log    *Log
	server *fakeServer

	mu          sync.Mutex
	calls, late int // late counts the calls that ended at their deadline
	overrun     time.Duration
	recoveries  []time.Duration
	rate        float64 // highest number of connection attempts per second during an outage
}

func (c *callers) outage(k outage.Kind, d time.Duration, rng *rand.Rand) {
	const n = 4
	done, stop := context.WithCancel(c.t.Context())
	var wg sync.WaitGroup
	for i := range n {
		deadlines := rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
		pause := 50*time.Millisecond + d/500
		wg.Go(func() {
			for done.Err() == nil {
				c.call(time.Duration(deadlines.Int64N(int64(10 * time.Second))))
				_ = eventstore.Sleep(done, pause/2+time.Duration(deadlines.Int64N(int64(pause))))
			}
		})
	}
	<-time.After(time.Second + time.Duration(rng.Int64N(int64(5*time.Second))))
	c.server.mu.Lock()
	dials := c.server.dials
	c.server.mu.Unlock()
	c.server.set(k)
	<-time.After(d)
	c.server.mu.Lock()
	if d > 10*time.Second {
		c.rate = max(c.rate, float64(c.server.dials-dials)/d.Seconds())
	}
	c.server.mu.Unlock()
	c.server.set(outage.None)
	over := time.Now()
	// A call without a deadline returns when the log is available again.
	_, err := attempt(c.t.Context(), c.log, "wait", func(ctx context.Context, client *es.Client) (struct{}, error) {
		return struct{}{}, c.server.call(ctx, client)
	})
	require.NoError(c.t, err)
	c.recoveries = append(c.recoveries, time.Since(over))
	stop()
	wg.Wait()
}

// call makes one call.
func (c *callers) call(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_, err := attempt(ctx, c.log, "call", func(ctx context.Context, client *es.Client) (struct{}, error) {
		return struct{}{}, c.server.call(ctx, client)
	})
	deadline, _ := ctx.Deadline()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.overrun = max(c.overrun, time.Since(deadline))
	switch {
	case err == nil:
	case errors.Is(err, eventstore.ErrUnavailable):
		c.late++
	default:
		c.t.Error(fmt.Errorf("a call: %w", err))
	}
}
