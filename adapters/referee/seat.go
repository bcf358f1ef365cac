package referee

import (
	"context"
	"fmt"
	"sync"

	"hexarena/domain/match"
)

// seat is one bot's seat in a match, with its line and its open decision. The goroutine
// that reads from the line and the goroutines of the match share the seat.
type seat struct {
	bot     string
	dialBot func(ctx context.Context, receive func(frame []byte, cause string)) (Line, Accepted, error)
	clock   *clock

	mu      sync.Mutex // guards the fields below
	conn    *connection
	open    *openDecision
	overdue []*overdue
}

// connection is one socket to a bot. It exists from the start of the dial. A seat
// ignores all connections except the newest one.
type connection struct {
	line    Line // nil during the dial
	dropped bool
}

// newSeat returns the seat of a bot that is not connected yet.
func (p *run) newSeat(bot string) *seat {
	u := Upgrade{BotID: bot, Commitment: p.seating.Commitment.String(), LogIndex: p.seating.Revision}
	if named := p.seating.Beacon; named != nil {
		u.BeaconRound = named.Round
	}
	dial := func(ctx context.Context, receive func([]byte, string)) (Line, Accepted, error) {
		b, ok := p.bot(bot)
		if !ok {
			return nil, Accepted{}, fmt.Errorf("bot %s is not in the directory", bot)
		}
		return p.options.Dial(ctx, b.URL, p.seating.MatchID, u, receive)
	}
	return &seat{bot: bot, dialBot: dial, clock: p.clock}
}

// dial opens a socket, makes it the seat's line, and returns the bot's response.
func (s *seat) dial(ctx context.Context) (accepted Accepted, err error) {
	c := &connection{}
	s.mu.Lock()
	s.conn = c
	s.mu.Unlock()
	line, accepted, err := s.dialBot(ctx, func(frame []byte, cause string) { s.receive(c, frame, cause) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.conn = nil
		return Accepted{}, err
	}
	c.line = line
	if c.dropped {
		s.drop(c)
	}
	return accepted, nil
}

// receive handles data from a socket. The goroutine that reads from the socket calls
// it.
func (s *seat) receive(c *connection, frame []byte, cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return
	}
	if cause == match.CauseDropped {
		c.dropped = true
		if c.line != nil {
			s.drop(c)
		}
		return
	}
	if cause == "" {
		s.noteLate(frame)
	}
	if s.open != nil {
		s.open.receive(frame, cause, s.clock.now())
	}
}

// drop removes a lost line from the seat. The open decision then times out
// immediately. The caller must hold s.mu.
func (s *seat) drop(c *connection) {
	if s.conn != c {
		return
	}
	s.conn = nil
	if s.open != nil {
		s.open.drop(c.line.Fault(), s.clock.now())
	}
}

// lose removes the seat's line after sending on it has failed.
func (s *seat) lose(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c)
}

// The method current() returns the seat's connection, or nil if it has no line.
func (s *seat) current() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.conn.line == nil {
		return nil
	}
	return s.conn
}

// takeLine removes the seat's line and returns it. It returns nil if the seat
// has no line.
func (s *seat) takeLine() Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conn
	s.conn = nil
	if c == nil {
		return nil
	}
	return c.line
}
