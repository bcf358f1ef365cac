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

// publishRetired publishes keys while no tick seats tables. So no new match can
// use a retired key, and the ladders list all matches that use it.
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
