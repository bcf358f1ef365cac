package referee

import (
	"context"
	"time"

	"hexarena/domain/match"
)

// openDecision is a decision that was sent to a seat, and its outcome. The
// decision closes at the first of these events: a frame arrives that is not
// an answer for an older decision, the line is lost, or the deadline passes. The
// seat's lock guards all fields.
type openDecision struct {
	match    *match.Match
	decision match.Decision
	since    time.Duration // when the decision was sent, on the referee's clock
	until    time.Duration
	dialed   bool // whether the line was down and had to be dialed first

	heard   bool // whether a complete frame has arrived, even an answer for an older decision
	closed  bool
	outcome match.Outcome
	done    chan struct{} // closed when the decision closes
}

func (p *run) newOpenDecision(d match.Decision) *openDecision {
	now := p.clock.now()
	return &openDecision{match: &p.state, decision: d, since: now, until: now + p.decisionTime(), done: make(chan struct{})}
}

// receive handles data from the seat's line.
func (o *openDecision) receive(frame []byte, cause string, now time.Duration) {
	if o.closed {
		return
	}
	o.heard = true
	if cause == "" && !o.match.AnswersOpenDecision(o.decision.Seat, frame) {
		return
	}
	o.close(frame, cause, now)
}

// close closes the decision if it is open. If an answer is read after the
// deadline, its elapsed time is the full time of the decision.
func (o *openDecision) close(frame []byte, cause string, now time.Duration) {
	if o.closed {
		return
	}
	o.closed = true
	o.outcome = match.Outcome{
		Decision: o.decision.ID, Frame: frame, Cause: cause, Heard: o.heard,
		ElapsedMs: (min(now, o.until) - o.since).Milliseconds(),
	}
	close(o.done)
}

// setOpen sets the open decision of the seat. If o is nil, the seat ignores
// frames.
func (s *seat) setOpen(o *openDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = o
}

// startClock starts the clock of a decision just before its request is written.
// It returns the time left to answer. This is the full time if the line was up,
// and the time that is left after dialing if the line was down. It is 0 if the
// decision is closed.
func (s *seat) startClock(o *openDecision) (left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.closed {
		return 0
	}
	now := s.clock.now()
	if !o.dialed {
		o.until += now - o.since
	}
	o.since = min(now, o.until)
	return o.until - o.since
}

// failDropped closes a decision that could not be sent to its bot.
func (s *seat) failDropped(o *openDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.close(nil, match.CauseDropped, s.clock.now())
}

func (s *seat) closed(o *openDecision) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.closed
}

// outcomeOf closes the decision at its deadline if the decision is still open,
// and returns the outcome. If ctx ended first, it returns a zero outcome.
func (s *seat) outcomeOf(ctx context.Context, o *openDecision) match.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !o.closed && ctx.Err() == nil {
		o.close(nil, match.CauseDeadline, o.until)
	}
	return o.outcome
}
