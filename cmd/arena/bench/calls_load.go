package bench

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/eventstore"
)

// hostileAddresses is how many addresses make as many calls as their limits allow.
const hostileAddresses = 8

// underAttack calls f while other addresses make the most expensive mix of calls,
// spread evenly over time.
func (b *callsBench) underAttack(ctx context.Context, f func(context.Context) (latency, error)) (latency, error) {
	attacking, stop := context.WithCancel(ctx)
	g, attacking := errgroup.WithContext(attacking)
	mix := worstMix(b.report.Rows)
	for n := range hostileAddresses {
		caller, rng := b.newCaller(), rand.New(rand.NewPCG(42, uint64(n)))
		g.Go(func() error { return b.attack(attacking, caller, mix, rng) })
	}
	l, err := f(attacking)
	stop()
	return l, errors.Join(err, g.Wait())
}

// attack makes calls until ctx ends. The arena rejects calls that exceed a limit.
func (b *callsBench) attack(ctx context.Context, caller *http.Client, mix []share, rng *rand.Rand) error {
	defer caller.CloseIdleConnections()
	var calls []int
	for _, s := range mix {
		calls = append(calls, slices.Repeat([]int{s.row}, int(s.n))...)
	}
	rng.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	each := time.Minute / time.Duration(len(calls))
	for i, next := rng.IntN(1000), time.Now(); eventstore.Sleep(ctx, time.Until(next)) == nil; i, next = i+1, next.Add(each) {
		if _, _, _, err := b.call(ctx, caller, b.calls[calls[i%len(calls)]], i); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// measureHealth calls /health 20 times a second.
func (b *callsBench) measureHealth(ctx context.Context) (latency, error) {
	var took []time.Duration
	var caller *http.Client
	for i := range int(20 * b.flags.Seconds) {
		if i%callsPerAddress == 0 {
			caller = b.newCaller()
			defer caller.CloseIdleConnections()
		}
		if err := eventstore.Sleep(ctx, 50*time.Millisecond); err != nil {
			return latency{}, err
		}
		begun := time.Now()
		if _, err := get(ctx, caller, b.arena.url+"/health", nil); err != nil {
			return latency{}, err
		}
		took = append(took, time.Since(begun))
	}
	return latencyOf(took), nil
}

// measureStreams plays matches twice: without readers, and with as many readers as
// one address may have. It compares the CPU time that the arena uses in the two
// cases.
func (b *callsBench) measureStreams(ctx context.Context) error {
	watched, err := b.withReaders(ctx, b.readAll)
	if err != nil {
		return err
	}
	unwatched, err := b.withReaders(ctx, func(context.Context) error { return nil })
	b.report.Streams = max(0, watched-unwatched)
	return err
}

// withReaders plays the running matches while readers read them. It returns the
// arena's CPU time as a percentage of one core.
func (b *callsBench) withReaders(ctx context.Context, open func(context.Context) error) (percent float64, err error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	if err := open(reading); err != nil {
		return 0, err
	}
	before, err := b.arena.cpuSeconds(ctx)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := new(liveReport).play(ctx, liveCmd{Rate: 4, Seconds: b.flags.Seconds}, b.arena.log, b.running); err != nil {
		return 0, err
	}
	after, err := b.arena.cpuSeconds(ctx)
	return 100 * (after - before) / time.Since(begun).Seconds(), err
}

// readAll opens as many streams as one address may have. Together they read all
// matches.
func (b *callsBench) readAll(ctx context.Context) error {
	caller := b.newCaller()
	for range streamsPerAddress {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.arena.url+"/live/stream", nil)
		if err != nil {
			return err
		}
		response, err := caller.Do(request) //nolint:bodyclose // the body is closed when the context ends
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, response.Body) }()
	}
	return nil
}
