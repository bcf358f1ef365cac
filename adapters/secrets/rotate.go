package secrets

import (
	"context"
	"slices"

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

// Rotate creates a new seed key, makes it the active key, and retires the old
// key. Rotate stores the new key durably in the file before the log names it. A
// crash between these two steps leaves an unused key. No table may be seated
// during Rotate, because the table could use the old key. If Rotate returns an
// error, the log may still have stored the rotation; Refresh finds out.
func (s Secrets) Rotate(ctx context.Context, reason string, m eventstore.Metadata) (Rotation, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	added := seedKey{ID: uuid.NewString(), Key: newSecret()}
	before := s.current.Load()
	file := before.file
	file.SeedKeys = append(slices.Clip(file.SeedKeys), added)
	saved := false
	var rotation Rotation
	keys, _, err := kind.Handle(ctx, s.log, arena.KeysStream, arena.Keys{}, m, func(k arena.Keys) ([]arena.Event, error) {
		events, err := k.Rotate(arena.HeldSeed{ID: added.ID, Hash: arena.HashOf(added.Key[:])}, reason)
		if err != nil {
			return nil, err
		}
		if !saved {
			if err := replace(s.path, file); err != nil {
				return nil, err
			}
			s.current.Store(&current{file, before.seed})
			saved = true
		}
		rotation = rotationOf(events)
		return events, nil
	})
	if err != nil {
		return Rotation{}, err
	}
	s.current.Store(&current{file, active(keys, file)})
	return rotation, nil
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

// Refresh reads the id of the active seed key from the log. It fails if the
// file does not contain that key. This happens if an arena with a different
// secrets file has rotated the key.
func (s Secrets) Refresh(ctx context.Context) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	keys, _, err := kind.Load(ctx, s.log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return err
	}
	file := s.current.Load().file
	s.current.Store(&current{file, active(keys, file)})
	return keys.Check(file.held(), true)
}
