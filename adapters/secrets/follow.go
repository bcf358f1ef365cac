package secrets

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// Follow exchanges seed keys with the other processes on the log until ctx ends. After
// each change in the log, it gets the keys that this process lacks, and seals the keys
// that only this process has. So a rotation reaches this process immediately. A process
// that plays should run Follow. Refresh and SeedKey do the same, but only when they are
// called.
func (s Secrets) Follow(ctx context.Context, logger *slog.Logger) {
	var reported string // the last problem that was logged
	for {
		err := s.follow(ctx, func(problem error) {
			switch {
			case problem == nil:
				reported = ""
			case reported != problem.Error():
				reported = problem.Error()
				logger.Warn("seed keys are missing, or could not be shared with other arenas", "error", problem)
			}
		})
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, eventstore.ErrEventsLost) { // otherwise, the next subscription begins with another exchange
			logger.Error("new seed keys arrive late, because the subscription to them ended", "error", err)
			return
		}
	}
}

// follow exchanges seed keys until the subscription ends. It calls report after each
// exchange.
func (s Secrets) follow(ctx context.Context, report func(problem error)) error {
	filter := eventstore.Filter{StreamPrefixes: []string{arena.KeysStream, arena.SealedKeysStream}}
	for m, err := range s.log.Subscribe(ctx, eventstore.EndPosition, filter) {
		if err != nil {
			return err
		}
		if m.Event == nil && !m.CaughtUp {
			continue
		}
		problem := s.followOnce(ctx, m.CaughtUp) // after an outage, a cluster may have lost its newest events
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(problem, eventstore.ErrEventsLost) { // otherwise, the subscription ends too
			report(problem)
		}
	}
	return ctx.Err()
}

// followOnce waits until the log is available, and then refreshes the keys once. It
// returns the reason why keys or copies are still missing.
func (s Secrets) followOnce(ctx context.Context, recheck bool) error {
	var problem error
	_ = eventstore.Retry(ctx, func() error { // returns nil, unless ctx ends
		ctx, cancel := context.WithTimeout(ctx, eventstore.AttemptTime)
		defer cancel()
		problem = s.refresh(ctx, recheck)
		problem = cmp.Or(problem, s.current.Load().why)
		if errors.Is(problem, eventstore.ErrUnavailable) || ctx.Err() != nil {
			return problem
		}
		return nil
	})
	return problem
}
