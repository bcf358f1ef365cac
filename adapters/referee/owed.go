package referee

import (
	"context"
	"time"

	"hexarena/domain/match"
)

// owed is a decision that a seat was asked and how it closed: by the seat's
// first frame that answers no older decision, by the loss of its line, or by
// its time. Guarded by its seat's lock.
type owed struct {
	match    *match.Match
	decision match.Decision
	since    time.Duration // when it was asked, by the clock
	until    time.Duration
	dialled  bool // the line was down when it was asked

	heard   bool // a complete frame came, though it answered an older decision
	closed  bool
	outcome match.Outcome
	done    chan struct{} // closed with it
}

func (p *play) newOwed(d match.Decision) *owed {
	now := p.clock.now()
	return &owed{match: &p.state, decision: d, since: now, until: now + p.decisionTime(), done: make(chan struct{})}
}

// hear takes what came on the seat's line.
func (o *owed) hear(frame []byte, cause string, now time.Duration) {
	if o.closed {
		return
	}
	o.heard = true
	if cause == "" && !o.match.AnswersOpenDecision(o.decision.Seat, frame) {
		return
	}
	o.close(frame, cause, now)
}

// close closes the decision if it is open. An answer that was found after the
// time was up has used it up.
func (o *owed) close(frame []byte, cause string, now time.Duration) {
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

// expect makes o what the seat owes; with nil, what it sends is ignored.
func (s *seat) expect(o *owed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed = o
}

// begin starts a decision's clock as its request is about to be written and
// returns the time that is left: all of it where the line was up, what dialling
// has left of it where it was not; none of a decision that is closed.
func (s *seat) begin(o *owed) (left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.closed {
		return 0
	}
	now := s.clock.now()
	if !o.dialled {
		o.until += now - o.since
	}
	o.since = min(now, o.until)
	return o.until - o.since
}

// fail closes a decision that no line could bring to its bot.
func (s *seat) fail(o *owed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.close(nil, match.CauseDropped, s.clock.now())
}

func (s *seat) closed(o *owed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.closed
}

// outcomeOf returns how a decision closed, now at the latest, or a zero outcome
// if ctx ended before.
func (s *seat) outcomeOf(ctx context.Context, o *owed) match.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !o.closed && ctx.Err() == nil {
		o.close(nil, match.CauseDeadline, o.until)
	}
	return o.outcome
}
