package secrets

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// Rotation contains the ids of the seed keys that a rotation changed. Retired
// keys stay in the file, because unfinished matches need them.
type Rotation struct {
	Added   string
	Retired []string
}

// Rotate creates a new seed key, makes it the active key, and retires the old key. It
// first stores the new key durably in the file. Then it stores a sealed copy in the log,
// so that all other processes can read the key as soon as the log names it. In the end,
// it stores the key's id in the log. A crash between these steps leaves an unused key.
// The caller must ensure that no table is seated during Rotate, because the table could
// use the old key. If Rotate returns an error, the log may still have stored the
// rotation. In that case, Refresh reads the active key from the log.
func (s Secrets) Rotate(ctx context.Context, reason string, m eventstore.Metadata) (Rotation, error) {
	return s.rotate(ctx, reason, m, func(arena.Keys) bool { return true })
}

// The constant scheduled is the reason that RotateIfOlder gives for its rotations.
const scheduled = "scheduled rotation"

// RotateIfOlder is like Rotate, but does nothing and returns a zero Rotation if the
// active key has not reached the given age. If several processes call it at the same
// time, only one of them rotates the key.
func (s Secrets) RotateIfOlder(ctx context.Context, age time.Duration, now time.Time) (Rotation, error) {
	due := func(added time.Time) bool { return now.Sub(added) >= age }
	if seed, known := s.current.Load().keys.CurrentSeed(); known && !due(seed.Added) {
		return Rotation{}, nil
	}
	m := eventstore.Metadata{At: now, Correlation: uuid.NewString()}
	return s.rotate(ctx, scheduled, m, func(k arena.Keys) bool {
		seed, known := k.CurrentSeed()
		return !known || due(seed.Added)
	})
}

// rotate calls the function wanted() with the keys in the log. If the function returns
// true, rotate replaces the seed key.
func (s Secrets) rotate(ctx context.Context, reason string, m eventstore.Metadata, wanted func(arena.Keys) bool) (Rotation, error) {
	if err := s.changing.Acquire(ctx, 1); err != nil {
		return Rotation{}, err
	}
	defer s.changing.Release(1)
	added := seedKey{ID: uuid.NewString(), Key: newSecret()}
	now := *s.current.Load()
	now.file = s.withStoredKeys(now.file)
	extended := now.file
	extended.SeedKeys = append(slices.Clip(now.file.SeedKeys), added)
	saved := false
	var rotation Rotation
	keys, _, err := kind.Handle(ctx, s.log, arena.KeysStream, arena.Keys{}, m, func(k arena.Keys) ([]arena.Event, error) {
		rotation = Rotation{}
		if !wanted(k) {
			return nil, nil
		}
		events, err := k.Rotate(arena.HeldSeed{ID: added.ID, Hash: added.hash()}, reason)
		if err != nil {
			return nil, err
		}
		if !saved {
			if err := s.save(extended); err != nil {
				return nil, err
			}
			now.file, saved = extended, true
			s.current.Store(&current{now.file, now.keys, now.why})
		}
		if err := s.seal(ctx, k, now.file, []seedKey{added}); err != nil {
			return nil, err
		}
		rotation = rotationOf(events)
		return events, nil
	})
	if err != nil {
		return Rotation{}, err
	}
	s.current.Store(&current{now.file, keys, now.why})
	return rotation, nil
}

// withStoredKeys returns c plus the seed keys that only the stored file contains.
// Another process that shares the file may have added them.
func (s Secrets) withStoredKeys(c contents) contents {
	stored, err := load(s.path)
	if err != nil || stored.held().Platform != c.held().Platform {
		return c
	}
	c.SeedKeys = slices.Clip(c.SeedKeys)
	for _, k := range stored.SeedKeys {
		if _, known := c.seedKey(k.ID); !known {
			c.SeedKeys = append(c.SeedKeys, k)
		}
	}
	return c
}

// save replaces the stored file, unless it now belongs to another arena.
func (s Secrets) save(c contents) error {
	if stored, err := load(s.path); err == nil && stored.PlatformSeed != c.PlatformSeed {
		return fmt.Errorf("the secrets file %s now belongs to another arena", s.path)
	}
	return replace(s.path, c)
}

func rotationOf(events []arena.Event) (r Rotation) {
	for _, e := range events {
		switch e := e.(type) {
		case arena.SeedKeyAdded:
			r.Added = e.ID
		case arena.SeedKeyRetired:
			r.Retired = append(r.Retired, e.ID)
		}
	}
	return r
}

// Refresh reads the keys that the log names, and gets the seed keys that this process
// lacks. It fails if the log is unavailable, or if this process still lacks the active
// seed key.
func (s Secrets) Refresh(ctx context.Context) error {
	return s.refresh(ctx, false)
}

// refresh implements Refresh. If recheck is true, it also checks whether the log still
// has the copies that it had.
func (s Secrets) refresh(ctx context.Context, recheck bool) error {
	if err := s.changing.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.changing.Release(1)
	if recheck {
		clear(s.sealed)
	}
	keys, _, err := kind.Load(ctx, s.log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return err
	}
	file, why := s.exchange(ctx, keys, s.current.Load().file)
	now := &current{file, keys, why}
	s.current.Store(now)
	return now.err()
}
