package lease

import (
	"context"
	"fmt"
	"time"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// sighting is what arena-player said at one time.
type sighting struct {
	player   arena.Player
	revision eventstore.Expected
	at       time.Time // when the read had ended
}

// acquire claims the lease, at once or after having watched another's for its
// length.
func (l *Lease) acquire(ctx context.Context) error {
	first, err := l.look(ctx)
	if err != nil {
		return err
	}
	for now := first; ; {
		watched := time.Since(first.at) >= Length
		events, refused := now.player.Claim(l.folder.id, l.host, watched && now.revision == first.revision)
		if refused == nil {
			if err := l.claim(ctx, now, events); !eventstore.IsWrongVersion(err) {
				return err
			}
		} else if watched {
			return refused
		}
		if err := pause(ctx, min(retryAfter, max(0, Length-time.Since(first.at)))); err != nil {
			return err
		}
		switch next, err := l.look(ctx); {
		case err == nil:
			now = next
		case watched:
			return err
		}
	}
}

func (l *Lease) look(ctx context.Context) (sighting, error) {
	ctx, cancel := context.WithTimeout(ctx, Length)
	defer cancel()
	p, revision, err := kind.Load(ctx, l.log, arena.PlayerStream, arena.Player{})
	return sighting{player: p, revision: revision, at: time.Now()}, err
}

// claim appends a claim at the exact revision that it was decided on. A stream
// that does not exist is limited to its last event first. A claim whose outcome
// is unknown is this folder's to take back at the next start.
func (l *Lease) claim(ctx context.Context, on sighting, events []arena.Event) error {
	ctx, cancel := context.WithTimeout(ctx, Length)
	defer cancel()
	if on.revision == eventstore.NoStream {
		if err := l.log.SetMetadata(ctx, arena.PlayerStream, eventstore.StreamMetadata{MaxCount: 1}); err != nil {
			return fmt.Errorf("limit %s: %w", arena.PlayerStream, err)
		}
	}
	start := time.Now()
	encoded, err := eventstore.EncodeAll(events, l.metadata())
	if err != nil {
		return err
	}
	if _, err := l.log.Append(ctx, arena.PlayerStream, on.revision, encoded...); err != nil {
		return fmt.Errorf("claim %s: %w", arena.PlayerStream, err)
	}
	l.renewed = start
	l.generation = on.player.Generation + 1
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
