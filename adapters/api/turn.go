package api

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"hexarena/adapters/rest/problem"
)

// turnTime is the longest time that an expensive call waits for its turn, except in tests.
const turnTime = 5 * time.Second

// newTurns returns the turns for expensive calls. There is one turn for every two
// processors, but at least one, so that matches and other calls do not have to wait for
// expensive calls.
func newTurns() *semaphore.Weighted {
	return semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2)))
}

// Turn waits until an expensive call or page may start. The caller must call done after
// the expensive part. If the wait takes too long, the error is problem.ErrBusy.
func (s *Server) Turn(ctx context.Context) (done func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, s.turnTime)
	defer cancel()
	if err := s.turns.Acquire(waiting, 1); err != nil {
		if ctx.Err() == nil {
			err = problem.ErrBusy
		}
		return nil, err
	}
	return func() { s.turns.Release(1) }, nil
}
