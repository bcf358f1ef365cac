// Package drand is a client of a relay: a server that publishes the rounds of a drand
// chain over drand's HTTP API. It accepts only rounds that are signed with the chain's
// key, so it does not have to trust the relay. It supports chains with the scheme
// bls-unchained-g1-rfc9380.
//
// Call [New] and run [Client.Run], which follows the newest round.
// [Client.Name] names the round of a new seating, and [Client.Await] waits for
// a named round. [Verify] checks a round without a relay. The package knows
// nothing about seeds or matches.
package drand

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hexarena/domain/beacon"
)

// Patience is how long Await waits for a round, counted from the round's time or from
// the call, whichever is later.
const Patience = 30 * time.Second

// pausedFor is how late a timer must fire before the client concludes that the process
// was paused.
const pausedFor = 2 * time.Second

// keptRounds is the number of verified rounds that a Client keeps in memory.
const keptRounds = 64

var (
	// ErrLate reports that a named round did not arrive in time.
	ErrLate = errors.New("the round did not arrive in time")
	// ErrStale reports that the relay has not served a recent round, so no tables may
	// be seated.
	ErrStale = errors.New("the beacon is behind")
	// ErrClock reports that the relay has served rounds that should not exist yet, so
	// no tables may be seated.
	ErrClock = errors.New("the arena's clock is behind the beacon")
)

// Options configure a Client. All fields are required.
type Options struct {
	URL    string       // the relay's base URL, without a trailing slash
	Chain  beacon.Chain // with all fields
	Logger *slog.Logger
}

// Client follows one chain. It is safe for concurrent use.
type Client struct {
	options Options
	relay   relay
	polled  chan struct{} // closed after the first poll

	mu       sync.Mutex // guards the fields below
	newest   uint64     // the newest verified round; 0 before the first one
	rounds   map[uint64]beacon.Round
	waiting  map[uint64]*wait
	failures map[string]uint64 // by reason
}

// The type wait describes a round for which one or more callers of Await are waiting.
type wait struct {
	callers int
	done    chan struct{} // closed when round is set
	round   beacon.Round
	stop    context.CancelFunc // ends the requests for the round
}

// New returns a Client. It does not call the relay yet.
func New(o Options) *Client {
	return &Client{
		options: o, relay: newRelay(o.URL, o.Chain),
		polled:   make(chan struct{}),
		rounds:   map[uint64]beacon.Round{},
		waiting:  map[uint64]*wait{},
		failures: map[string]uint64{reasonUnavailable: 0, reasonWrong: 0},
	}
}

// Chain returns the chain that the client follows.
func (c *Client) Chain() beacon.Chain { return c.options.Chain }

// Polled returns a channel that is closed after Run's first call to the relay, even if
// that call failed.
func (c *Client) Polled() <-chan struct{} { return c.polled }

// Run asks the relay for the newest round until ctx ends. It asks shortly after each
// round is due, and then twice per period until the relay serves that round.
func (c *Client) Run(ctx context.Context) {
	failed := ""
	for first := true; ctx.Err() == nil; first = false {
		r, err := c.relay.latest(ctx)
		switch {
		case err == nil && failed != "":
			c.options.Logger.Info("the beacon's relay works again", "round", r.Round)
			failed = ""
		case err != nil && ctx.Err() == nil:
			failed = c.failed(err, failed, "could not read the newest round; retrying")
		}
		if err == nil {
			c.store(r)
		}
		if first {
			close(c.polled)
		}
		sleep(ctx, c.untilPoll(time.Now()))
	}
}

// untilPoll returns the time until the next poll. A relay receives each round shortly
// after the round's time.
func (c *Client) untilPoll(now time.Time) time.Duration {
	chain := c.options.Chain
	due := chain.Newest(now)
	if c.Newest() < due {
		return chain.Period / 2
	}
	return chain.Time(due+1).Sub(now) + chain.Period/3
}

// Newest returns the number of the newest round that the client has verified,
// or 0 before the first one.
func (c *Client) Newest() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest
}

// Err returns an error that wraps ErrStale if the newest round is more than
// beacon.Margin periods old.
func (c *Client) Err() error { return c.stale(time.Now(), c.Newest()) }

func (c *Client) stale(now time.Time, newest uint64) error {
	chain := c.options.Chain
	if newest == 0 {
		return fmt.Errorf("%w: the relay has not served a valid round yet", ErrStale)
	}
	if age := now.Sub(chain.Time(newest)); age > beacon.Margin*chain.Period {
		return fmt.Errorf("%w: its newest round, %d, is %s old; the limit is %s", ErrStale, newest, age.Round(time.Millisecond), beacon.Margin*chain.Period)
	}
	return nil
}

// Name returns the round that a seating at a tick names, and the time at which that
// round appears. It returns an error if no tables may be seated at this tick. One
// reason is that the newest round is too old. The other is that the arena's clock is
// behind, because in that case the named round might already exist.
func (c *Client) Name(tick time.Time) (n beacon.Named, appears time.Time, err error) {
	chain, newest := c.options.Chain, c.Newest()
	if err := c.stale(tick, newest); err != nil {
		return beacon.Named{}, time.Time{}, err
	}
	round := chain.After(tick)
	if round < newest+beacon.Margin {
		return beacon.Named{}, time.Time{}, fmt.Errorf("%w: the relay served round %d at %s, before it was due; check the arena's clock", ErrClock, newest, tick.UTC().Format(time.RFC3339Nano))
	}
	return beacon.Named{Chain: chain.Hash, Round: round}, chain.Time(round), nil
}

// Await returns a round of the chain. If the round does not arrive within Patience,
// Await returns ErrLate. Await also returns if ctx ends. It ignores rounds that are not
// signed with the chain's key.
func (c *Client) Await(ctx context.Context, round uint64) (beacon.Round, error) {
	w, leave := c.join(round)
	defer leave()
	for {
		began := time.Now()
		limit := max(0, c.options.Chain.Time(round).Sub(began)) + Patience
		timer := time.NewTimer(limit)
		select {
		case <-w.done:
			timer.Stop()
			return w.round, nil
		case <-ctx.Done():
			timer.Stop()
			return beacon.Round{}, fmt.Errorf("waiting for round %d of the beacon: %w", round, ctx.Err())
		case <-timer.C:
			if time.Since(began) < limit+pausedFor {
				return beacon.Round{}, fmt.Errorf("round %d of the beacon: %w", round, ErrLate)
			}
			// The process was paused, so the requests had no chance to finish. Start
			// waiting again.
		}
	}
}

// join returns the wait for a round. The first caller starts the requests for the
// round. Each caller must call leave. The last call of leave ends the requests.
func (c *Client) join(round uint64) (w *wait, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.rounds[round]; ok {
		done := make(chan struct{})
		close(done)
		return &wait{done: done, round: r}, func() {}
	}
	w = c.waiting[round]
	if w == nil {
		ctx, stop := context.WithCancel(context.Background())
		w = &wait{done: make(chan struct{}), stop: stop}
		c.waiting[round] = w
		go c.collect(ctx, round)
	}
	w.callers++
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if w.callers--; w.callers == 0 && c.waiting[round] == w {
			delete(c.waiting, round)
			w.stop()
		}
	}
}

// collect asks the relay for a round until the client has the round or ctx ends.
func (c *Client) collect(ctx context.Context, round uint64) {
	chain, failed := c.options.Chain, ""
	due := func() time.Duration { return time.Until(chain.Time(round)) + chain.Period/6 }
	for wait := due(); wait > 0 && ctx.Err() == nil; wait = due() {
		sleep(ctx, min(wait, chain.Period)) // the clock may be corrected in the meantime
	}
	for ctx.Err() == nil {
		r, err := c.relay.round(ctx, round)
		if err == nil {
			c.store(r)
			return
		}
		if ctx.Err() == nil && !errors.Is(err, errNotYet) {
			failed = c.failed(err, failed, "could not read the round; retrying", "round", round)
		}
		sleep(ctx, chain.Period/4)
	}
}

// store keeps a verified round, and passes it to the callers that wait for it.
func (c *Client) store(r beacon.Round) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = max(c.newest, r.Round)
	c.rounds[r.Round] = r
	if len(c.rounds) > keptRounds {
		oldest := r.Round
		for n := range c.rounds {
			oldest = min(oldest, n)
		}
		delete(c.rounds, oldest)
	}
	if w := c.waiting[r.Round]; w != nil {
		delete(c.waiting, r.Round)
		w.round = r
		close(w.done)
		w.stop()
	}
}

// The method failed() counts a failure and returns its reason. It logs the failure
// unless the previous one had the same reason.
func (c *Client) failed(err error, previous, what string, about ...any) (reason string) {
	reason = reasonOf(err)
	c.mu.Lock()
	c.failures[reason]++
	c.mu.Unlock()
	if reason != previous {
		c.options.Logger.Warn("beacon: "+what, append(about, "error", err)...)
	}
	return reason
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
