package secrets

import (
	"context"
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
// stores the new key durably in the file before it stores the key's id in the log. A
// crash between these two steps leaves an unused key. The caller must ensure that no
// table is seated during Rotate, because the table could use the old key. If Rotate
// returns an error, the log may still have stored the rotation. In that case, Refresh
// reads the active key from the log.
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
	if !due(s.current.Load().used) {
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
	s.changing.Lock()
	defer s.changing.Unlock()
	added := seedKey{ID: uuid.NewString(), Key: newSecret()}
	before := s.current.Load()
	file := s.withStoredKeys(before.file)
	extended := file
	extended.SeedKeys = append(slices.Clip(file.SeedKeys), added)
	saved := false
	var rotation Rotation
	keys, _, err := kind.Handle(ctx, s.log, arena.KeysStream, arena.Keys{}, m, func(k arena.Keys) ([]arena.Event, error) {
		rotation = Rotation{}
		if !wanted(k) {
			return nil, nil
		}
		events, err := k.Rotate(arena.HeldSeed{ID: added.ID, Hash: arena.HashOf(added.Key[:])}, reason)
		if err != nil {
			return nil, err
		}
		if !saved {
			if err := replace(s.path, extended); err != nil {
				return nil, err
			}
			file, saved = extended, true
			s.current.Store(&current{file, before.seed, before.used})
		}
		rotation = rotationOf(events)
		return events, nil
	})
	if err != nil {
		return Rotation{}, err
	}
	s.current.Store(active(keys, file))
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

// Refresh reads the id of the active seed key from the log. It fails if the file does
// not contain that key. That happens if an arena with a different secrets file has
// rotated the key.
func (s Secrets) Refresh(ctx context.Context) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	keys, _, err := kind.Load(ctx, s.log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return err
	}
	file := s.current.Load().file
	s.current.Store(active(keys, file))
	return keys.Check(file.held(), true)
}
