package api

import (
	"context"
	"time"
)

// SetTurnTime sets how long an expensive call waits for its turn.
func (s *Server) SetTurnTime(d time.Duration) { s.turnTime = d }

// SetStreamTimes sets how long each write to a stream's reader may take, and how long
// the last write may take. Tests that use sockets set long times, because the machine
// may be busy.
func (s *Server) SetStreamTimes(write, last time.Duration) {
	s.streams.writeTime, s.streams.lastTime = write, last
}

// SetStreamPace sets the minimum time between two writes to a stream of all matches or
// of an owner's events.
func (s *Server) SetStreamPace(d time.Duration) { s.streams.pace = d }

// Compute waits for the turn to compute a win probability. The caller must call done.
func (s *Server) Compute(ctx context.Context) (done func(), err error) {
	if err := s.computing.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { s.computing.Release(1) }, nil
}

// SetPlayouts sets the number of play-outs of a win probability at each turn.
func (s *Server) SetPlayouts(n int) { s.playouts = n }
