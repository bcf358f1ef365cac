package referee

import (
	"context"
	"errors"
	"sync"
	"time"

	"hexarena/domain/match"
)

// redialPause is the pause between two dials for one decision.
const redialPause = 250 * time.Millisecond

// errWall reports that the match's wall clock ran out while decisions were open.
var errWall = errors.New("the wall clock has run out")

// ask sends all open decisions to their bots at the same time, and returns the outcomes
// in the order of the decisions. If the clock reaches the time wall, the error is
// errWall. If an operator aborts the match, the error is the Order. If ctx ends, the
// error is errStopped. If ask returns an error, the outcome of each decision that is
// still open contains only the time that the decision has used.
func (p *run) ask(ctx context.Context, wall time.Duration) ([]match.Outcome, error) {
	ctx, stop := p.withLimits(ctx, wall)
	defer stop()
	p.clock.awaitGate(ctx)
	asks := p.state.Asks()
	outcomes := make([]match.Outcome, len(asks))
	var others sync.WaitGroup
	for i, d := range asks[1:] {
		others.Go(func() { outcomes[i+1] = p.askOne(ctx, d) })
	}
	outcomes[0] = p.askOne(ctx, asks[0])
	others.Wait()
	for _, o := range outcomes {
		if o.Decision == 0 {
			return outcomes, context.Cause(ctx)
		}
	}
	return outcomes, nil
}

// withLimits returns a context that ends in two cases. When the clock reaches the time
// wall, the cause is errWall. When an operator aborts the match, the cause is the
// Order.
func (p *run) withLimits(ctx context.Context, wall time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(p.ordered, func() { cancel(context.Cause(p.ordered)) })
	if wall-p.clock.now() <= p.decisionTime() {
		go func() {
			p.clock.wait(ctx, wall, nil)
			cancel(errWall)
		}()
	}
	return ctx, func() { forget(); cancel(nil) }
}

// decisionTime returns the decision time that was set when the match started.
func (p *run) decisionTime() time.Duration {
	return time.Duration(p.state.Started.Deadlines.DecisionMs) * time.Millisecond
}

// askOne sends one decision to its bot and returns the outcome. If ctx ends first, the
// outcome does not name a decision. If the seat's time bank is empty, the decision
// times out immediately, and the bot does not get a request.
func (p *run) askOne(ctx context.Context, d match.Decision) match.Outcome {
	s, o := p.seats[d.Seat], p.newOpenDecision(d)
	if o.allowed.DeadlineMs == 0 {
		return match.Outcome{Decision: d.ID, Cause: match.CauseDeadline, Unasked: true}
	}
	s.setOpen(o)
	defer s.setOpen(nil)
	if c := p.connect(ctx, s, o); c != nil {
		p.send(ctx, s, o, c)
	}
	p.clock.wait(ctx, o.until, o.done)
	p.drain(ctx, s, o)
	return s.outcomeOf(ctx, o)
}

// send writes the request for a decision. If the write does not finish within the
// decision's time, send drops the line.
func (p *run) send(ctx context.Context, s *seat, o *openDecision, c *connection) {
	if !p.clock.awaitGate(ctx) {
		return
	}
	left := s.startClock(o)
	if left <= 0 {
		s.failDropped(o)
		return
	}
	request := p.state.Request(o.decision)
	allowed := o.allowed.After(o.redialMs())
	request.DeadlineMs, request.BankMs = allowed.DeadlineMs, allowed.BankMs
	frame := frames.Get().(*[]byte)
	defer frames.Put(frame)
	*frame = request.AppendJSON((*frame)[:0])
	sending, cancel := p.clock.withDeadline(ctx, o.until)
	defer cancel()
	if c.line.Send(sending, *frame) != nil && ctx.Err() == nil {
		p.closing.Go(c.line.Close)
		s.lose(c)
	}
}

// drain reads the data that the seat's socket had received by the deadline. Otherwise,
// the referee could lose an answer that arrived just before the deadline.
func (p *run) drain(ctx context.Context, s *seat, o *openDecision) {
	c := s.current()
	if c == nil || s.closed(o) || ctx.Err() != nil {
		return
	}
	c.line.Drain(ctx)
}

// connect returns the seat's connection. If the line is down, connect dials repeatedly
// within the decision's time. If all dials fail, the decision times out with the cause
// match.CauseDropped. If the bot's address is not allowed, connect does not dial again,
// and the decision times out immediately.
func (p *run) connect(ctx context.Context, s *seat, o *openDecision) *connection {
	for p.clock.awaitGate(ctx) && !s.closed(o) {
		if c := s.current(); c != nil {
			return c
		}
		if p.clock.now() >= o.until {
			s.failDropped(o)
			return nil
		}
		o.dialed = true
		dialing, cancel := p.clock.withDeadline(ctx, o.until)
		_, err := s.dial(dialing)
		o.noteDial(err, dialing.Err() != nil)
		cancel()
		switch {
		case err == nil:
			continue
		case notAllowed(err):
			s.failDropped(o)
			return nil
		}
		p.clock.wait(ctx, min(o.until, p.clock.now()+redialPause), o.done)
	}
	return nil
}

// slowConnect is the fault of a dial that succeeded too late.
var slowConnect = match.Fault{Code: match.CodeSlowConnect, Message: "the connection opened only when no time was left"}

// noteDial stores the result of a dial. If the deadline cut the dial short, noteDial
// keeps the fault of an earlier dial, because that fault says more.
func (o *openDecision) noteDial(err error, cut bool) {
	o.noLine = err != nil
	var known interface{ Fault() match.Fault }
	switch {
	case err == nil:
		o.fault = &slowConnect
	case errors.As(err, &known) && (o.fault == nil || !cut):
		fault := known.Fault()
		o.fault = &fault
	}
}

// notAllowed reports whether err means that dialing again cannot succeed.
func notAllowed(err error) bool {
	var refused interface{ NotAllowed() bool }
	return errors.As(err, &refused) && refused.NotAllowed()
}

// The variable frames is a pool of buffers for encoding requests.
var frames = sync.Pool{New: func() any { return new([]byte) }}
