package secrets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// Rotation is what became of the seed keys, by their ids. Retired ones stay in
// the file: matches that were seated under them need them.
type Rotation struct {
	Added   string
	Retired []string
}

// Rotate puts a new seed key into use and retires the one before, for a reason.
// The file has the new key, durably, before the log names it; a rotation that
// failed between the two leaves a key that nobody uses. Whatever is seated while
// Rotate runs may be seated under the old key, so nobody may seat meanwhile.
// After an error the log may hold the rotation all the same: Refresh tells.
func (s Secrets) Rotate(ctx context.Context, reason string, m eventstore.Metadata) (Rotation, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	added := seedKey{ID: uuid.NewString(), Key: newSecret()}
	file, current := s.contents()
	file.SeedKeys = append(slices.Clip(file.SeedKeys), added)
	kept := false
	var rotation Rotation
	keys, _, err := kind.Handle(ctx, s.log, arena.KeysStream, arena.Keys{}, m, func(k arena.Keys) ([]arena.Event, error) {
		events, err := k.Rotate(arena.HeldSeed{ID: added.ID, Hash: arena.HashOf(added.Key[:])}, reason)
		if err != nil {
			return nil, err
		}
		if !kept {
			if err := replace(s.path, file); err != nil {
				return nil, err
			}
			s.set(file, current)
			kept = true
		}
		rotation = rotationOf(events)
		return events, nil
	})
	if err != nil {
		return Rotation{}, err
	}
	s.set(file, inUse(keys, file))
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

// Refresh reads from the log which seed key is in use. That it is not held is
// an error: another arena has rotated, with secrets of its own.
func (s Secrets) Refresh(ctx context.Context) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	keys, _, err := kind.Load(ctx, s.log, arena.KeysStream, arena.Keys{})
	if err != nil {
		return err
	}
	file, _ := s.contents()
	s.set(file, inUse(keys, file))
	return keys.Check(file.held(), true)
}

// replace writes the file anew, whole and durable, or leaves the old one.
func replace(path string, c contents) error {
	data, err := c.encode()
	if err != nil {
		return fmt.Errorf("write the secrets file %s: %w", path, err)
	}
	if len(data) > maxFile {
		return fmt.Errorf("the secrets file %s would be larger than %d bytes", path, maxFile)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // a link stays one
		return fmt.Errorf("write the secrets file: %w", err)
	}
	temp, err := written(filepath.Dir(path), data)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the secrets file %s: %w", path, err), discard(temp))
	}
	return syncFolder(filepath.Dir(path))
}

func discard(temp string) error {
	if temp == "" {
		return nil
	}
	return os.Remove(temp)
}
