package matchmaker

import (
	"context"
	"errors"
)

// RetiredKeys publishes retired seed keys.
type RetiredKeys interface {
	// PublishRetired publishes the retired seed keys that no unfinished match
	// needs, and returns their ids. It publishes each key only once. The
	// function needed() returns the ids of the seed keys of all unfinished matches.
	PublishRetired(ctx context.Context, needed func(context.Context) (map[string]bool, error)) (ids []string, err error)
}

// Rotation replaces seed keys that have been in use for too long.
type Rotation interface {
	// If the current seed key is old enough, RotateIfDue puts a new key into use and
	// returns its id. Otherwise, it returns an empty id.
	RotateIfDue(ctx context.Context) (id string, err error)
}

// keepKeys rotates the seed key if a rotation is due, and publishes retired keys.
// Meanwhile, no tick seats tables, so each table uses the key that was current in the
// log when the table was stored.
func (m *Matchmaker) keepKeys(ctx context.Context) {
	m.WithSeatingPaused(func() {
		if m.options.Rotation != nil {
			m.rotate(ctx)
		}
		if m.options.Retired != nil {
			m.publishRetired(ctx)
		}
	})
}

func (m *Matchmaker) rotate(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tickTime)
	defer cancel()
	id, err := m.options.Rotation.RotateIfDue(ctx)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		m.options.Logger.Warn("could not rotate the seed key; retrying at the next tick", "error", err)
	}
	if id != "" {
		m.options.Logger.Info("seed key rotated as scheduled; back up the secrets file", "id", id)
	}
}

// publishRetired publishes retired keys while no tick is seating tables. During that
// time, no new match can start to use a retired key, so the ladders list all matches
// that still need one.
func (m *Matchmaker) publishRetired(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tickTime)
	defer cancel()
	ids, err := m.options.Retired.PublishRetired(ctx, m.neededKeys)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		m.options.Logger.Warn("could not publish the retired seed keys; retrying at the next tick", "error", err)
	}
	for _, id := range ids {
		m.options.Logger.Info("retired seed key published", "id", id)
	}
}

// neededKeys returns the ids of the seed keys of all unfinished matches.
func (m *Matchmaker) neededKeys(ctx context.Context) (map[string]bool, error) {
	needed := map[string]bool{}
	for _, l := range m.options.Ladders {
		unfinished, err := l.Unfinished(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range unfinished {
			needed[s.SeedKey] = true
		}
	}
	return needed, nil
}
