package referee

import (
	"context"
	"errors"
	"fmt"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
)

// Order is an operator's, that a match end without placements.
type Order struct {
	Reason  string
	Request string // the id of the request, which correlates what follows
}

// Why a match is not aborted.
var (
	// ErrOver says that the match had ended before the order.
	ErrOver = errors.New("the match is over")
	// ErrNotPlaying says that nothing is played here any more.
	ErrNotPlaying = errors.New("this arena does not play")
)

// errOrdered ends what is being asked: the match is to be aborted.
var errOrdered = errors.New("an operator has the match aborted")

// Abort aborts an unfinished match, and returns once the ladder has it as void.
// Where ctx ends before, as while the log is away, the order stands all the
// same for as long as this referee plays. A second order for a match joins the
// first.
func (r *Referee) Abort(ctx context.Context, s ladder.Seating, o Order) error {
	r.mu.Lock()
	g := r.begin(s)
	r.mu.Unlock()
	if g == nil {
		return ErrNotPlaying
	}
	g.orders.give(o)
	select {
	case <-g.done:
	case <-ctx.Done():
		return fmt.Errorf("match %s is to be aborted: %w", s.MatchID, ctx.Err())
	}
	switch {
	case errors.Is(g.err, errStopped), errors.Is(g.err, errReplaced):
		return fmt.Errorf("%w: %w", ErrNotPlaying, g.err)
	case g.err != nil:
		return g.err
	case g.abort == nil || g.abort.Why != match.Operator:
		return ErrOver
	}
	return nil
}

// orders hand an operator's order to the match that it is for.
type orders struct {
	ctx    context.Context // ends, with the order as its cause, when it is given
	cancel context.CancelCauseFunc
}

func newOrders() orders {
	ctx, cancel := context.WithCancelCause(context.Background())
	return orders{ctx, cancel}
}

// ordered carries an order as the cause of a context's end.
type ordered struct{ Order }

func (ordered) Error() string { return errOrdered.Error() }

// give hands over an order; the first counts.
func (o orders) give(order Order) { o.cancel(ordered{order}) }

// given is the order, if there is one.
func (o orders) given() (Order, bool) {
	var order ordered
	ok := errors.As(context.Cause(o.ctx), &order)
	return order.Order, ok
}

// close frees what a match without an order holds.
func (o orders) close() { o.cancel(nil) }

// cancel aborts the match by an order.
func (p *play) cancel(o Order) ([]match.Event, error) {
	p.request = o.Request
	return p.state.CancelByOrder(o.Reason)
}
