package lease

import (
	"context"
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

// acquire claims the lease immediately if no other process holds it. Otherwise,
// acquire watches the other holder's lease for Length first.
func (l *Lease) acquire(ctx context.Context) error {
	first, err := l.observe(ctx)
	if err != nil {
		return err
	}
	for now := first; ; {
		watched := time.Since(first.at) >= Length
		events, refused := now.player.Claim(l.holder, l.host, watched && now.revision == first.revision)
		if refused == nil {
			if err := l.claim(ctx, now, events); !eventstore.IsWrongVersion(err) {
				return err
			}
		} else if watched {
			return refused
		}
		if err := eventstore.Sleep(ctx, min(retryAfter, max(0, Length-time.Since(first.at)))); err != nil {
			return err
		}
		switch next, err := l.observe(ctx); {
		case err == nil:
			now = next
		case watched:
			return err
		}
	}
}

func (l *Lease) observe(ctx context.Context) (observation, error) {
	ctx, cancel := context.WithTimeout(ctx, Length)
	defer cancel()
	p, revision, err := kind.Load(ctx, l.log, arena.PlayerStream, arena.Player{})
	return observation{player: p, revision: revision, at: time.Now()}, err
}

// claim appends a claim at exactly the revision on which the decision was based. If the
// stream is new, claim first configures it to keep only its last event. If the outcome
// of the append is unknown, the next process on the same folder can take the lease back
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
	l.renewed = start
	l.generation = seen.player.Generation + 1
	return nil
}
