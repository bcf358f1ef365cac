package conformance

import (
	"context"
	"sync"
	"time"

	"hexarena/adapters/botwire"
	"hexarena/domain/match"
	"hexarena/domain/seed"
)

const (
	maxLate   = time.Second            // how long to wait for a late answer, to tell late from silent
	longClose = 400 * time.Millisecond // a bot that ignores close frames takes longer
)

// session is the bot's connection in one match.
type session struct {
	line *botwire.Line
	err  error // why the dial failed

	mu    sync.Mutex // guards the field below
	heard []message
	wake  chan struct{} // has a value if something was heard since the last look

	unexpected [][]byte     // messages that answer no open decision
	answered   map[int]bool // by the id of the decision
}

type message struct {
	frame []byte
	cause string
}

// open connects to the bot for a match.
func (r *run) open(m *match.Match) *session {
	s := &session{answered: map[int]bool{}, wake: make(chan struct{}, 1)}
	// As on an arena, the time of a dial is limited by the time for a decision.
	ctx, cancel := context.WithTimeout(context.Background(), r.Decision)
	defer cancel()
	url, err := r.Address(ctx)
	if err != nil {
		s.err = err
		return s
	}
	id := m.Started.MatchID
	line, accepted, err := r.dialer.Dial(ctx, url, id, botwire.Upgrade{
		BotID: r.BotID, Commitment: seed.Commitment(m.ServerSeed).String(), LogIndex: uint64(r.matches),
	}, s.receive)
	if err != nil {
		s.err = err
		return s
	}
	s.line = line
	r.greeted(id, accepted)
	return s
}

// close closes the connection. Once the bot has been slow to close, close does not wait
// for it, because many checks open a connection each.
func (r *run) close(s *session) {
	if s.line == nil {
		return
	}
	if r.slow >= 3 {
		r.closing.Go(s.line.Close)
		return
	}
	begun := time.Now()
	s.line.Close()
	if time.Since(begun) >= longClose {
		r.slow++
	}
}

func (s *session) receive(frame []byte, cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, message{frame, cause})
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next returns the next message that was heard.
func (s *session) next() (message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.heard) == 0 {
		return message{}, false
	}
	next := s.heard[0]
	if next.cause != match.CauseDropped { // a dropped line stays dropped
		s.heard = s.heard[1:]
	}
	return next, true
}

// idle removes the messages that came while no decision was open.
func (s *session) idle() (dropped bool) {
	for {
		m, ok := s.next()
		switch {
		case !ok:
			return false
		case m.cause == match.CauseDropped:
			return true
		}
		s.unexpected = append(s.unexpected, m.frame)
	}
}

// exchange sends a request and waits for the answer. The result open is true if the
// deadline in the request was later than the limit.
func (s *session) exchange(ctx context.Context, m *match.Match, d match.Decision, frame []byte, limit time.Duration) (o match.Outcome, open bool) {
	o = match.Outcome{Decision: d.ID}
	if s.err != nil {
		o.Cause, o.Fault, o.NoLine = match.CauseDropped, faultOf(s.err), true
		return o, false
	}
	if s.idle() {
		o.Cause, o.Fault = match.CauseDropped, s.line.Fault()
		return o, false
	}
	if longer := deadlineOf(frame) > limit; longer {
		open, limit = true, 2*limit
	}
	begun := time.Now()
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := s.line.Send(waiting, frame); err != nil {
		o.Cause, o.Fault = match.CauseDropped, s.line.Fault()
		return o, false
	}
	got, ok := s.await(waiting, m, d)
	o.ElapsedMs = time.Since(begun).Milliseconds()
	if !ok {
		o.Cause = match.CauseDeadline
		if !open {
			o.Fault = s.late(ctx, m, d, begun.Add(limit))
		}
		return o, open
	}
	o.Frame, o.Cause = got.frame, got.cause
	if o.Cause == match.CauseDropped {
		o.Fault = s.line.Fault()
	}
	return o, false
}

// await returns the message that settles the decision. If none comes before ctx ends,
// ok is false.
func (s *session) await(ctx context.Context, m *match.Match, d match.Decision) (got message, ok bool) {
	for {
		for got, ok = s.next(); ok; got, ok = s.next() {
			if got.cause != "" || m.AnswersOpenDecision(d.Seat, got.frame) {
				return got, true
			}
			s.unexpected = append(s.unexpected, got.frame)
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return message{}, false
		}
	}
}

// late waits a little longer, and returns how late the answer came. It returns nil if
// none came.
func (s *session) late(ctx context.Context, m *match.Match, d match.Decision, deadline time.Time) *match.Fault {
	waiting, cancel := context.WithTimeout(ctx, maxLate)
	defer cancel()
	got, ok := s.await(waiting, m, d)
	if !ok || match.IDOf(got.frame) != d.ID {
		return nil
	}
	f := match.LateAnswer{LateMs: time.Since(deadline).Milliseconds()}.Fault()
	return &f
}
