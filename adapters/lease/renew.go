package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hexarena/domain/arena"
)

// keep renews the lease until ctx ends or it is lost.
func (l *Lease) keep(ctx context.Context) {
	defer close(l.stopped)
	timer := time.NewTimer(time.Until(l.renewed.Add(renewEvery)))
	defer timer.Stop()
	var last error // of the renewals that failed since the last good one
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

// renew writes one renewal, at the exact revision of our claim's last. It ends
// when the lease does. A process that was paused beyond that finds out by one
// short try whether another took its place meanwhile: if it can still renew,
// nobody did.
func (l *Lease) renew(ctx context.Context) error {
	start := time.Now()
	limit := l.left()
	if limit <= 0 {
		limit = retryAfter
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := l.handle(ctx, func(p arena.Player) ([]arena.Event, error) {
		return p.Renew(l.folder.id, l.generation)
	})
	if err == nil {
		l.renewed = start
	}
	return err
}

// left is how much of the lease remains.
func (l *Lease) left() time.Duration { return time.Until(l.renewed.Add(Length)) }

func (l *Lease) lose(reason error) {
	l.reason = reason
	close(l.lost)
}
