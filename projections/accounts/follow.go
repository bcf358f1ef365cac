package accounts

import (
	"context"
	"fmt"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

const (
	probeInterval = 250 * time.Millisecond // short, so that two probes and their delays take less than Stale
	probeTimeout  = 2 * time.Second
	idleAfter     = 5 * time.Second // since the last Load
	idleInterval  = 5 * time.Second // between probes while nobody loads accounts; short, because a probe may be the first call that notices an outage
)

// Run folds new events onto the cached accounts until ctx ends. While the log is
// unavailable, Run retries, and each Load tries to read the log. If nobody has called
// Load for a while, Run looks for new events less often. The next Load then reads the log.
func (a *Accounts) Run(ctx context.Context) {
	var at eventstore.Position
	known := false
	cache := a.cache.Load()
	timer := time.NewTimer(0)
	defer timer.Stop()
	used, interval := time.Now(), probeInterval
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.used:
			used = time.Now()
			if interval == probeInterval {
				continue
			}
		case <-timer.C:
		}
		if now := a.cache.Load(); now != cache {
			cache, known = now, false // the position may lie beyond the end of the log
		}
		var err error
		if known {
			at, err = a.probe(ctx, at)
		} else {
			at, err = a.begin(ctx)
		}
		known = err == nil
		interval = probeInterval
		if time.Since(used) > idleAfter {
			interval = idleInterval
		}
		timer.Reset(interval)
	}
}

// begin returns the position of the end of the log. Run sees every event after that
// position.
func (a *Accounts) begin(ctx context.Context) (eventstore.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	head, err := eventstore.Head(ctx, a.log)
	if err == nil {
		a.mu.Lock()
		now := time.Now()
		a.followed = span{now, now}
		a.mu.Unlock()
	}
	return head, err
}

// probe folds the events after a position, and returns the position for the next probe.
// If probe fails, Run may have missed events, so it calls the method begin() again.
func (a *Accounts) probe(ctx context.Context, after eventstore.Position) (eventstore.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	began := time.Now()
	next, err := eventstore.Head(ctx, a.log)
	if err != nil {
		return next, err
	}
	if next == after {
		a.reached(began)
		return next, nil
	}
	caughtUp := false
	for m, err := range a.log.Subscribe(ctx, after, eventstore.Filter{StreamPrefixes: []string{owner.AccountPrefix}}) {
		if err != nil {
			return after, err
		}
		if m.Event != nil {
			if err := a.apply(*m.Event); err != nil {
				return after, err
			}
			next = max(next, m.Event.Position)
		}
		if m.CaughtUp {
			caughtUp = true
			break
		}
	}
	if !caughtUp {
		return after, fmt.Errorf("did not reach the log's end: %w", context.Cause(ctx))
	}
	a.reached(began)
	return next, nil
}

// The method reached() records that Run has folded all events up to a time.
func (a *Accounts) reached(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followed.until = at
}

// apply folds an event onto its cached account. If earlier events are missing, the
// next Load reads them.
func (a *Accounts) apply(r eventstore.Recorded) error {
	e, ok := a.cache.Load().Find(r.Stream)
	if !ok {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	e.stored = max(e.stored, r.Revision+1)
	if r.Revision != e.next {
		return nil
	}
	account, err := kind.Fold(e.account, r)
	if err == nil {
		e.set(account, r.Revision+1)
	}
	return err
}
