package referee

import (
	"slices"
	"time"

	"hexarena/domain/match"
)

// The type overdue is a decision that reached its deadline without an answer. Until the
// match is over, the seat waits for the first late answer to this decision.
type overdue struct {
	decision match.Decision
	until    time.Duration
	answer   *match.LateAnswerReceived // nil until the late answer arrives
	keep     func(...match.Event)      // stores the late answer; nil until the timeout is stored
}

// noteLate records a frame if it is the first late answer to an overdue decision. The
// caller must hold s.mu.
func (s *seat) noteLate(frame []byte) {
	if len(s.overdue) == 0 {
		return
	}
	id := match.IDOf(frame)
	i := slices.IndexFunc(s.overdue, func(o *overdue) bool { return o.decision.ID == id })
	if i < 0 || s.overdue[i].answer != nil {
		return
	}
	o := s.overdue[i]
	late := match.NewLateAnswer(o.decision.Seat, id, frame, (s.clock.now() - o.until).Milliseconds())
	o.answer = &late
	s.flushLate(i)
}

// keepLate passes the late answer to an overdue decision to the function keep(). If the
// answer has not arrived yet, this happens when it arrives.
func (s *seat) keepLate(decision int, keep func(...match.Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.overdue, func(o *overdue) bool { return o.decision.ID == decision })
	if i >= 0 {
		s.overdue[i].keep = keep
		s.flushLate(i)
	}
}

func (s *seat) flushLate(i int) {
	if o := s.overdue[i]; o.answer != nil && o.keep != nil {
		o.keep(*o.answer)
		s.overdue = slices.Delete(s.overdue, i, i+1)
	}
}
