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
	timer := time.NewTimer(l.untilNext())
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
		case errors.Is(last, arena.ErrNotSeating):
			l.lose(last)
			return
		case last != nil:
			timer.Reset(min(retryAfter, max(0, l.left())))
		default:
			timer.Reset(l.untilNext())
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
		l.renewedAt(start)
	}
	return err
}

// renewedAt opens the gate after a write that was stored.
func (l *Lease) renewedAt(start time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = start
	close(l.again)
	l.again = make(chan struct{})
}

// untilNext returns the time until the next renewal.
func (l *Lease) untilNext() time.Duration { return l.left() - Length + renewEvery }

// The method left() returns the time until the lease expires.
func (l *Lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.renewed.Add(Length))
}
