package referee

import (
	"context"
	"fmt"
	"sync"

	"hexarena/domain/match"
)

// seat is one bot's place in a match: its line and the decision that it owes.
// Its reader's calls and the match's goroutines meet here.
type seat struct {
	bot   string
	open  func(ctx context.Context, receive func(frame []byte, cause string)) (Line, string, error)
	clock *clock

	mu   sync.Mutex // guards what follows
	conn *connection
	owed *owed
}

// connection is one socket, from its dial on: only the newest of a seat counts.
type connection struct {
	line    Line // nil while it is being dialled
	dropped bool
}

// newSeat returns the seat of a bot that is not connected.
func (p *play) newSeat(bot string) *seat {
	commitment := p.seating.Commitment.String()
	open := func(ctx context.Context, receive func([]byte, string)) (Line, string, error) {
		b, ok := p.config.Bots(bot)
		if !ok {
			return nil, "", fmt.Errorf("bot %s is not in the directory", bot)
		}
		return p.config.Dial(ctx, b.URL, p.seating.MatchID, commitment, receive)
	}
	return &seat{bot: bot, open: open, clock: p.clock}
}

// dial opens a socket, which becomes the seat's line, and returns the bot's
// nonce.
func (s *seat) dial(ctx context.Context) (nonce string, err error) {
	c := &connection{}
	s.mu.Lock()
	s.conn = c
	s.mu.Unlock()
	line, nonce, err := s.open(ctx, func(frame []byte, cause string) { s.receive(c, frame, cause) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.conn = nil
		return "", err
	}
	c.line = line
	if c.dropped {
		s.drop(c)
	}
	return nonce, nil
}

// receive hears what a socket brings, on its reader.
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
	if s.owed != nil {
		s.owed.hear(frame, cause, s.clock.now())
	}
}

// drop forgets a line that is gone. A decision that is open times out with it.
// s.mu is held.
func (s *seat) drop(c *connection) {
	if s.conn != c {
		return
	}
	s.conn = nil
	if s.owed != nil {
		s.owed.close(nil, match.CauseDropped, s.clock.now())
	}
}

// lose forgets a line that failed to send.
func (s *seat) lose(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c)
}

// current is the seat's connection, or nil while it has no line.
func (s *seat) current() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.conn.line == nil {
		return nil
	}
	return s.conn
}

// takeLine returns the seat's line, if it has one, and forgets it.
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
