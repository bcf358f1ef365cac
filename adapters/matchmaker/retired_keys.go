package matchmaker

import (
	"context"
	"errors"
)

// RetiredKeys publishes retired seed keys.
type RetiredKeys interface {
	// PublishRetired publishes the retired seed keys that no unfinished match
	// needs, and returns their ids. It publishes each key only once. needed
	// returns the ids of the seed keys of all unfinished matches.
	PublishRetired(ctx context.Context, needed func(context.Context) (map[string]bool, error)) (ids []string, err error)
}

// Rotation replaces seed keys that have been in use for too long.
type Rotation interface {
	// RotateIfDue puts a new seed key into use if the current key is old enough,
	// and returns the id of the new key. Otherwise it returns an empty id.
	RotateIfDue(ctx context.Context) (id string, err error)
}

// keepKeys rotates the seed key if that is due, and publishes retired keys. No tick
// seats tables during this time, so each table uses the key that the log selects
// for it.
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
		m.options.Logger.Warn("seed key not rotated; retrying at the next tick", "error", err)
	}
	if id != "" {
		m.options.Logger.Info("seed key rotated as scheduled; back up the secrets file", "id", id)
	}
}

// publishRetired publishes keys while no tick seats tables. Then no new match can
// use a retired key, and the ladders list all matches that still need one.
func (m *Matchmaker) publishRetired(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tickTime)
	defer cancel()
	ids, err := m.options.Retired.PublishRetired(ctx, m.neededKeys)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		m.options.Logger.Warn("retired seed keys not published; retrying at the next tick", "error", err)
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
