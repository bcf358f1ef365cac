package referee

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

// Beacon provides the rounds of one chain.
type Beacon interface {
	// Chain returns the chain.
	Chain() beacon.Chain
	// Await waits for a round and verifies it. It returns an error if the round
	// does not arrive in time, or if ctx ends.
	Await(ctx context.Context, round uint64) (beacon.Round, error)
}

// The type unstarted is the error for a match that is voided before it starts. The
// match's stream has no events, so only the ladder records the end, as a void match.
type unstarted struct {
	why   string // a reason of domain/ladder
	order Order  // if why is ladder.WhyOperator
}

func (u unstarted) Error() string { return "the match is voided and never starts: " + u.why }

// requireBeacon returns nil if this process can get the round that the table names.
// Otherwise, it logs an error and waits for an operator, who can restart the arena with
// the right chain or abort the match. The match is not voided automatically, because
// the round exists, and a restart without the beacon must not give the match a
// different seed.
func (p *run) requireBeacon(ctx context.Context) error {
	named, available := p.seating.Beacon, p.options.Beacon
	if named == nil || available != nil && available.Chain().Hash == named.Chain {
		return nil
	}
	p.log().Error("match cannot start: its seed needs a beacon chain that this arena does not use; restart with --beacon and this --beacon-chain, or abort the match",
		"chain", named.Chain, "round", named.Round)
	select {
	case <-p.ordered.Done():
		return p.unstartedByOrder()
	case <-ctx.Done():
		return errStopped
	}
}

// reportLateDial logs a warning if the named round was already published before the
// referee dials the bots, for example because the process was restarted. The bots then
// get the number of a round that is already known. Owners who record the time of the
// dial can notice this too.
func (p *run) reportLateDial() {
	named := p.seating.Beacon
	if named == nil {
		return
	}
	if late := time.Since(p.options.Beacon.Chain().Time(named.Round)); late > 0 {
		p.log().Warn("dialing the bots late: the named round has already appeared", "round", named.Round, "late", late)
	}
}

// awaitRound returns the round that the table names, or nil if the table does not name
// a round. If the round does not arrive in time, or if an operator aborts the match,
// the match is voided before it starts. In that case, the error is of type unstarted.
func (p *run) awaitRound(ctx context.Context) (*beacon.Round, error) {
	named := p.seating.Beacon
	switch {
	case p.ordered.Err() != nil:
		return nil, p.unstartedByOrder()
	case named == nil:
		return nil, nil
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ordered, cancel)()
	round, err := p.options.Beacon.Await(waiting, named.Round)
	switch {
	case p.ordered.Err() != nil:
		return nil, p.unstartedByOrder()
	case ctx.Err() != nil:
		return nil, errStopped
	case err != nil:
		p.log().Warn("voiding the match: the beacon's round did not arrive in time", "round", named.Round, "error", err)
		return nil, unstarted{why: ladder.WhyBeacon}
	}
	return &round, nil
}

func (p *run) unstartedByOrder() error {
	u := unstarted{why: ladder.WhyOperator}
	errors.As(context.Cause(p.ordered), &u.order)
	return u
}

// voidUnstarted voids a match that has not started.
//
// Another process may start the match at the same time. This happens if this process was
// paused, or carries out an order for a match of the other process. So voidUnstarted looks
// for events of the match before and after it voids the match. If there are any, the error
// is errReplaced. The other process calls heedVoid after the start. At least one of the two
// sees the events of the other.
func (p *run) voidUnstarted(ctx context.Context, u unstarted) error {
	if err := p.awaitClaim(ctx); err != nil {
		return err
	}
	if err := p.requireUnstarted(ctx); err != nil {
		return err
	}
	if err := p.stored(ctx, p.mode.Ladder.Void(ctx, p.seating.MatchID, u.why)); err != nil {
		return err
	}
	if err := p.requireUnstarted(ctx); err != nil {
		return err
	}
	p.log().Info("match ended before it started", "why", u.why, "reason", u.order.Reason, "request", u.order.Request)
	return nil
}

func (p *run) requireUnstarted(ctx context.Context) error {
	if err := p.load(ctx); err != nil {
		return err
	}
	if p.expected != eventstore.NoStream {
		return fmt.Errorf("%w: the other process has started the match", errReplaced)
	}
	return nil
}

// The method abort() returns the abort that an operator ordered, which is not stored in
// any stream. If there was no order, it returns nil.
func (u unstarted) abort() *match.Aborted {
	if u.why != ladder.WhyOperator {
		return nil
	}
	return &match.Aborted{Why: match.Operator, Reason: u.order.Reason}
}

// heedTime is long enough for a read and an append.
const heedTime = 5 * time.Second

// heedVoid aborts a match that the ladder has already ended. That happens if another
// process has voided the match just before this process started it (see voidUnstarted).
// The bots of such a match are free for other matches. No other process would abort it, so
// heedVoid continues for heedTime after this process has stopped playing the match. If the
// process crashes first, or the log fails for longer, the stream of the match never ends.
func (p *run) heedVoid(playing context.Context) error {
	if p.state.Over() {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(playing))
	defer cancel()
	defer context.AfterFunc(playing, func() { time.AfterFunc(heedTime, cancel) })()
	finished, err := p.mode.Ladder.Finished(ctx, p.seating.MatchID)
	switch {
	case playing.Err() != nil && (err != nil || !finished):
		return errStopped
	case err != nil || !finished:
		return err
	}
	p.log().Warn("aborting the match: it was voided before it started")
	order := Order{Reason: "the match was voided before it started"}
	errors.As(context.Cause(p.ordered), &order)
	events, err := p.abortBy(order)
	if err != nil {
		return err
	}
	return p.append(ctx, events)
}
