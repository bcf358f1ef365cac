package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// observation is the state of the stream arena-player at the time of a read.
type observation struct {
	player   arena.Player
	revision eventstore.Expected
	at       time.Time // the end of the read
}

// sameEvent reports whether two observations saw the same event. If the log has lost
// events, another event may have the same revision.
func (o observation) sameEvent(other observation) bool {
	return o.revision == other.revision && o.player.Generation == other.player.Generation && o.player.At.Equal(other.player.At)
}

// acquire claims the lease immediately if no other process holds it. Otherwise, acquire
// watches the other holder's lease until it has not changed for Length. It retries
// while the log is unavailable, and if the log has lost events.
func (l *Lease) acquire(ctx context.Context) error {
	var first observation // the first one of the stream's last event
	for seen := false; ; {
		now, err := l.observe(ctx)
		if err == nil {
			if !seen || !now.sameEvent(first) {
				first, seen = now, true
			}
			err = l.tryToClaim(ctx, now, time.Since(first.at) >= Length)
		}
		var held *arena.HeldError
		wait := retryAfter
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), err)
		case errors.As(err, &held):
			wait = min(retryAfter, max(0, Length-time.Since(first.at)))
		case eventstore.IsWrongVersion(err), errors.Is(err, eventstore.ErrUnavailable), errors.Is(err, eventstore.ErrEventsLost), errors.Is(err, context.DeadlineExceeded):
		default:
			return err
		}
		if err := eventstore.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// tryToClaim claims the lease, unless another process holds it and has not run out.
func (l *Lease) tryToClaim(ctx context.Context, now observation, ranOut bool) error {
	events, err := now.player.Claim(l.folder.ID, l.folder.Host, ranOut)
	if err != nil {
		return err
	}
	return l.claim(ctx, now, events)
}

func (l *Lease) observe(ctx context.Context) (observation, error) {
	ctx, cancel := context.WithTimeout(ctx, Length)
	defer cancel()
	p, revision, err := kind.Load(ctx, l.log, arena.PlayerStream, arena.Player{})
	return observation{player: p, revision: revision, at: time.Now()}, err
}

// claim appends a claim at exactly the revision on which the decision was based. If the
// stream is new, claim first configures it to keep only its last event. If the outcome
// of the append is unknown, the next attempt of this folder can take the lease back
// immediately.
func (l *Lease) claim(ctx context.Context, seen observation, events []arena.Event) error {
	ctx, cancel := context.WithTimeout(ctx, Length)
	defer cancel()
	if seen.revision == eventstore.NoStream {
		if err := l.log.SetMetadata(ctx, arena.PlayerStream, eventstore.StreamMetadata{MaxCount: 1}); err != nil {
			return fmt.Errorf("keep only the last event of %s: %w", arena.PlayerStream, err)
		}
	}
	start := time.Now()
	if _, _, err := kind.Append(ctx, l.log, arena.PlayerStream, seen.revision, l.metadata(), seen.player, events); err != nil {
		return fmt.Errorf("claim the lease: %w", err)
	}
	l.renewedAt(start)
	l.generation = seen.player.Generation + 1
	return nil
}
