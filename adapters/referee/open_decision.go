package referee

import (
	"context"
	"time"

	"hexarena/domain/match"
)

// openDecision is a decision that was sent to a seat, and its outcome. The decision
// closes when a frame arrives, unless the frame is an answer to an older decision. It
// also closes when the line is lost or the deadline passes. The seat's lock guards all
// fields.
type openDecision struct {
	match    *match.Match
	decision match.Decision
	allowed  match.Allowance
	began    time.Duration // when the seat's time started to run, on the referee's clock
	since    time.Duration // when the request was sent, if redialing delayed it; otherwise equal to began
	until    time.Duration
	dialed   bool         // whether the line was down and had to be dialed first
	sent     bool         // whether the referee has begun to write the request
	fault    *match.Fault // the fault of the latest dial; nil if no dial was needed
	noLine   bool         // whether the latest dial failed

	heard   bool // whether a complete frame has arrived, even an answer to an older decision
	closed  bool
	outcome match.Outcome
	done    chan struct{} // closed when the decision closes
}

func (p *run) newOpenDecision(d match.Decision) *openDecision {
	now, allowed := p.clock.now(), p.state.Allow(p.used, d.Seat)
	until := now + time.Duration(allowed.DeadlineMs)*time.Millisecond
	return &openDecision{match: &p.state, decision: d, allowed: allowed, began: now, since: now, until: until, done: make(chan struct{})}
}

// redialMs returns by how many milliseconds redialing delayed the request.
func (o *openDecision) redialMs() int64 { return (o.since - o.began).Milliseconds() }

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

// close closes the decision if it is open. If the referee reads the answer after the
// deadline, the elapsed time is the full time of the decision.
func (o *openDecision) close(frame []byte, cause string, now time.Duration) {
	if o.closed {
		return
	}
	o.closed = true
	o.outcome = o.timed(now)
	o.outcome.Decision, o.outcome.Frame, o.outcome.Cause, o.outcome.Heard = o.decision.ID, frame, cause, o.heard
	close(o.done)
}

// drop closes the decision because the line was lost or could not be opened.
func (o *openDecision) drop(fault *match.Fault, now time.Duration) {
	if o.closed {
		return
	}
	o.close(nil, match.CauseDropped, now)
	o.outcome.Fault = fault
}

// The method timed() returns an outcome that contains only the time that the decision
// has used.
func (o *openDecision) timed(now time.Duration) match.Outcome {
	elapsed := (min(now, o.until) - o.since).Milliseconds()
	redial := o.redialMs()
	out := match.Outcome{ElapsedMs: elapsed, UsedMs: redial + elapsed, RedialMs: redial}
	if !o.sent {
		out.RedialMs = out.UsedMs
	}
	return out
}

// setOpen sets the seat's open decision. If o is nil, the seat ignores frames.
func (s *seat) setOpen(o *openDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = o
}

// startClock starts the clock of a decision just before the request is written. It
// returns the time that is left to answer: the full time if the line was up, and the
// time that is left after dialing if the line was down. If the decision is closed, it
// returns 0.
func (s *seat) startClock(o *openDecision) (left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.closed {
		return 0
	}
	now := s.clock.now()
	if !o.dialed {
		o.until += now - o.began
		o.began = now
	}
	o.since, o.sent = min(now, o.until), true
	return o.until - o.since
}

// failDropped closes a decision that could not be sent to its bot.
func (s *seat) failDropped(o *openDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !o.closed {
		o.drop(o.fault, s.clock.now())
		o.outcome.NoLine = o.noLine
	}
}

func (s *seat) closed(o *openDecision) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.closed
}

// outcomeOf closes the decision at its deadline if the decision is still open,
// and returns the outcome. If ctx ended first, the outcome contains only the time
// that the decision has used.
func (s *seat) outcomeOf(ctx context.Context, o *openDecision) match.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case o.closed:
	case ctx.Err() != nil:
		return o.timed(s.clock.now())
	default:
		o.close(nil, match.CauseDeadline, o.until)
		s.overdue = append(s.overdue, &overdue{decision: o.decision, until: o.until})
	}
	return o.outcome
}
