package accounts

import (
	"context"
	"fmt"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// probeEvery is how often Run looks for what was stored. A look, and what
// delays it, fits Stale twice.
const probeEvery = 250 * time.Millisecond

// probeTime is how long one look may take.
const probeTime = 2 * time.Second

// Run folds what is stored of the accounts that are kept, until ctx ends. While
// the log is away it keeps trying, and Load reads by itself.
func (a *Accounts) Run(ctx context.Context) {
	var at eventstore.Position
	known := false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		var err error
		if known {
			at, err = a.probe(ctx, at)
		} else {
			at, err = a.begin(ctx)
		}
		known = err == nil
		timer.Reset(probeEvery)
	}
}

// begin notes where the log ends: from here on nothing is missed.
func (a *Accounts) begin(ctx context.Context) (eventstore.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	head, err := eventstore.Head(ctx, a.log)
	if err == nil {
		a.mu.Lock()
		a.covered.from = time.Now()
		a.covered.until = a.covered.from
		a.mu.Unlock()
	}
	return head, err
}

// probe folds what was stored after a position, and returns the one to go on
// after. After an error what was missed is not known, and begin is due.
func (a *Accounts) probe(ctx context.Context, after eventstore.Position) (eventstore.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	began := time.Now()
	next, err := eventstore.Head(ctx, a.log)
	if err != nil || next == after {
		return next, a.reached(began, err)
	}
	caughtUp := false
	for m, err := range a.log.Subscribe(ctx, after, eventstore.Filter{StreamPrefixes: []string{owner.AccountPrefix}}) {
		if err != nil {
			return after, err
		}
		if m.Event != nil {
			if err := a.hear(*m.Event); err != nil {
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
		return after, fmt.Errorf("the log's end was not reached: %w", context.Cause(ctx))
	}
	return next, a.reached(began, nil)
}

// reached notes that nothing was missed up to a time, unless something failed.
func (a *Accounts) reached(at time.Time, err error) error {
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.covered.until = at
	return nil
}

// hear folds an event onto its account, if that is kept and the event is the
// next one; else the next Load reads what lies between.
func (a *Accounts) hear(r eventstore.Recorded) error {
	ownerID, ok := owner.ParseAccountStream(string(r.Stream))
	if !ok {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.kept[ownerID]
	if !ok {
		return nil
	}
	e.heard = max(e.heard, r.Revision+1)
	if r.Revision != e.next {
		return nil
	}
	account, err := kind.Fold(e.account, r)
	if err != nil {
		return err
	}
	e.hold(account, r.Revision+1)
	return nil
}
