package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hexarena/domain/arena"
)

// renewLoop renews the lease until ctx ends or the lease is lost.
func (l *Lease) renewLoop(ctx context.Context) {
	timer := time.NewTimer(time.Until(l.renewed.Add(renewEvery)))
	defer timer.Stop()
	var last error // the error of the latest attempt to renew
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if last != nil && l.left() <= 0 {
			l.lose(fmt.Errorf("%w: %w", ErrUnrenewed, last))
			return
		}
		last = l.renew(ctx)
		switch {
		case errors.Is(last, arena.ErrNotPlaying):
			l.lose(last)
			return
		case last != nil:
			timer.Reset(min(retryAfter, max(0, l.left())))
		default:
			timer.Reset(time.Until(l.renewed.Add(renewEvery)))
		}
	}
}

// renew stores one renewal of this claim. It stops waiting when the lease expires. If
// the process was paused and the lease has already expired, renew still tries once, for
// a short time. If the log stores that renewal, no other process has taken the lease in
// the meantime.
func (l *Lease) renew(ctx context.Context) error {
	start := time.Now()
	limit := l.left()
	if limit <= 0 {
		limit = retryAfter
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := l.handle(ctx, arena.Player.Renew)
	if err == nil {
		l.renewed = start
	}
	return err
}

// The method left() returns the time until the lease expires.
func (l *Lease) left() time.Duration { return time.Until(l.renewed.Add(Length)) }
