package matchmaker

import (
	"context"
	"errors"
	"time"
)

// RetiredKeys are the seed keys that tables are seated under no more.
type RetiredKeys interface {
	// PublishRetired publishes those that no unfinished match was seated under,
	// each once, and returns their ids; needed tells of which ones matches are
	// unfinished.
	PublishRetired(ctx context.Context, needed func(context.Context) (map[string]bool, error)) (ids []string, err error)
}

// publishKeys publishes at once and then at every Tick, until ctx ends.
func (m *Matchmaker) publishKeys(ctx context.Context) {
	if m.config.Retired == nil {
		return
	}
	ticker := time.NewTicker(m.config.Tick)
	defer ticker.Stop()
	for {
		m.Between(func() { m.publishRetired(ctx) })
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// publishRetired runs while no tick seats: a key that is retired by then is
// seated under no more, and its matches are all on the ladders.
func (m *Matchmaker) publishRetired(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tickTime)
	defer cancel()
	ids, err := m.config.Retired.PublishRetired(ctx, m.neededKeys)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		m.config.Logger.Warn("retired seed keys were not published", "error", err)
	}
	for _, id := range ids {
		m.config.Logger.Info("a retired seed key is published", "id", id)
	}
}

// neededKeys are the seed keys of the unfinished matches of all ladders.
func (m *Matchmaker) neededKeys(ctx context.Context) (map[string]bool, error) {
	needed := map[string]bool{}
	for _, l := range m.config.Ladders {
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
