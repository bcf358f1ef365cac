package referee

import (
	"context"
	"errors"
	"fmt"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
)

// Order is an operator's order to abort a match, which ends the match without
// placements.
type Order struct {
	Reason  string
	Request string // the id of the operator's request; stored with the events as their correlation id
}

// Error implements error, so that an Order can be the cause of a canceled
// context.
func (Order) Error() string { return "an operator aborted the match" }

// Abort may fail with these errors.
var (
	// ErrOver reports that the match had already ended when the order arrived.
	ErrOver = errors.New("the match is over")
	// ErrNotPlaying reports that this process no longer plays.
	ErrNotPlaying = errors.New("this arena does not play")
)

// Abort aborts an unfinished match, and returns once the ladder has stored the match as
// void. If another process plays the match, Abort takes the match from it. If ctx ends
// first, for example during an outage of the log, the order stays in effect, even if the
// log loses events or another process takes the match. If playing the match fails for a
// different reason, for example because this process lacks the seed key, or if Stop is
// called, the referee forgets the order. But if the abort is already in the match's
// stream, the next task voids the match. If Play or Abort is called after a running match
// has failed, but before its task has ended, the next task gets the order. Only the first
// order for a match has an effect; later calls wait for the outcome of the first one.
//
// If the match is voided for its beacon just when the order comes, Abort may report that the
// order was carried out.
//
// If the log has lost the seating of the match, the error is ladder.ErrUnknownMatch. If
// another table has got the id of the match since, that table is aborted.
func (r *Referee) Abort(ctx context.Context, s ladder.Seating, o Order) error {
	r.mu.Lock()
	t := r.begin(s, &o)
	r.mu.Unlock()
	if t == nil {
		return ErrNotPlaying
	}
	t, err := t.last(ctx)
	if err != nil {
		return fmt.Errorf("abort match %s: the abort is not stored yet: %w", s.MatchID, err)
	}
	switch {
	case errors.Is(t.err, errStopped), errors.Is(t.err, errReplaced):
		return fmt.Errorf("%w: %w", ErrNotPlaying, t.err)
	case t.err != nil:
		return t.err
	case t.abort == nil || t.abort.Why != match.Operator:
		return ErrOver
	}
	return nil
}

// abortBy returns the events with which an operator's order aborts the match.
func (p *run) abortBy(o Order) ([]match.Event, error) {
	p.request = o.Request
	return p.state.CancelByOrder(o.Reason)
}
