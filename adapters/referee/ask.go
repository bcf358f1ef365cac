package referee

import (
	"context"
	"errors"
	"sync"
	"time"

	"hexarena/domain/match"
)

const (
	redialPause = 250 * time.Millisecond // between dials of one decision
	drainTime   = time.Second            // for what a socket had received
)

// errWall says that the wall clock ran out while decisions were open.
var errWall = errors.New("the wall clock has run out")

// ask asks all open decisions at once and returns how each closed, in their
// order. It returns errWall when the clock shows wall before they have,
// errOrdered when the match is to be aborted, and errStopped when ctx ends.
func (p *play) ask(ctx context.Context, wall time.Duration) ([]match.Outcome, error) {
	ctx, stop := p.within(ctx, wall)
	defer stop()
	asks := p.state.Asks()
	outcomes := make([]match.Outcome, len(asks))
	var others sync.WaitGroup
	for i, d := range asks[1:] {
		others.Go(func() { outcomes[i+1] = p.decide(ctx, d) })
	}
	outcomes[0] = p.decide(ctx, asks[0])
	others.Wait()
	for _, o := range outcomes {
		if o.Decision == 0 {
			return nil, context.Cause(ctx)
		}
	}
	return outcomes, nil
}

// within ends ctx with errWall when the clock shows wall, and with errOrdered
// when the match is to be aborted.
func (p *play) within(ctx context.Context, wall time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(p.orders.ctx, func() { cancel(errOrdered) })
	if wall-p.clock.now() <= p.decisionTime() {
		go func() {
			p.clock.wait(ctx, wall, nil)
			cancel(errWall)
		}()
	}
	return ctx, func() { forget(); cancel(nil) }
}

// decisionTime is that of the match as it was started.
func (p *play) decisionTime() time.Duration {
	return time.Duration(p.state.Started.Deadlines.DecisionMs) * time.Millisecond
}

// decide asks one decision and returns how it closed, or a zero outcome if ctx
// ended before.
func (p *play) decide(ctx context.Context, d match.Decision) match.Outcome {
	s, o := p.seats[d.Seat], p.newOwed(d)
	s.expect(o)
	defer s.expect(nil)
	if c := p.connect(ctx, s, o); c != nil {
		p.put(ctx, s, o, c)
	}
	p.clock.wait(ctx, o.until, o.done)
	p.drain(ctx, s, o)
	return s.outcomeOf(ctx, o)
}

// put writes the request of a decision. A line that does not take it in the
// decision's time is gone.
func (p *play) put(ctx context.Context, s *seat, o *owed, c *connection) {
	left := s.begin(o)
	if left <= 0 {
		s.fail(o)
		return
	}
	request := p.state.Request(o.decision)
	request.DeadlineMs = ceilMs(left)
	frame := frames.Get().(*[]byte)
	defer frames.Put(frame)
	*frame = request.AppendJSON((*frame)[:0])
	sending, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	if c.line.Send(sending, *frame) != nil && ctx.Err() == nil {
		p.closing.Go(c.line.Close)
		s.lose(c)
	}
}

// drain reads what the seat's socket had received when the time was up: a
// deadline that fires late must not hide an answer.
func (p *play) drain(ctx context.Context, s *seat, o *owed) {
	c := s.current()
	if c == nil || s.closed(o) || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	c.line.Drain(ctx)
}

// connect returns the seat's line. Where it is down it dials again and again
// within the decision's time; then, and at once for an address that is not
// allowed, the decision times out as dropped.
func (p *play) connect(ctx context.Context, s *seat, o *owed) *connection {
	for ctx.Err() == nil && !s.closed(o) {
		if c := s.current(); c != nil {
			return c
		}
		left := o.until - p.clock.now()
		if left <= 0 {
			s.fail(o)
			return nil
		}
		o.dialled = true
		err := s.dialWithin(ctx, left)
		switch {
		case err == nil:
			continue
		case notAllowed(err):
			s.fail(o)
			return nil
		}
		p.clock.wait(ctx, min(o.until, p.clock.now()+redialPause), o.done)
	}
	return nil
}

func (s *seat) dialWithin(ctx context.Context, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	_, err := s.dial(ctx)
	return err
}

// notAllowed says whether a dial failed for good.
func notAllowed(err error) bool {
	var refused interface{ NotAllowed() bool }
	return errors.As(err, &refused) && refused.NotAllowed()
}

// frames holds buffers for requests.
var frames = sync.Pool{New: func() any { return new([]byte) }}

// ceilMs rounds up to whole milliseconds.
func ceilMs(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
