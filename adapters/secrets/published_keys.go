package secrets

import (
	"context"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// PublishRetired publishes the retired seed keys that no unfinished match needs, and
// returns their ids. It publishes each key only once. The function needed() returns the
// ids of the seed keys of all unfinished matches. It is called only if some retired key
// has not been published yet. The caller must ensure that no tables are seated while
// PublishRetired runs.
func (s Secrets) PublishRetired(ctx context.Context, needed func(context.Context) (map[string]bool, error)) ([]string, error) {
	if err := s.changing.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.changing.Release(1)
	now := *s.current.Load()
	var ids []string
	m := eventstore.Metadata{At: time.Now(), Correlation: uuid.NewString()}
	keys, _, err := kind.Handle(ctx, s.log, arena.KeysStream, arena.Keys{}, m, func(k arena.Keys) ([]arena.Event, error) {
		ids = nil
		if len(k.Unpublished()) == 0 {
			return nil, nil
		}
		inUse, err := needed(ctx)
		if err != nil {
			return nil, err
		}
		now.file, _ = s.complete(ctx, k.Unpublished(), now.file) // a key that this process does not get stays unpublished
		events := k.Publish(now.file.seedKey, inUse)
		for _, e := range events {
			ids = append(ids, e.(arena.SeedKeyPublished).ID)
		}
		return events, nil
	})
	if err != nil {
		return nil, err
	}
	now.keys = keys
	s.current.Store(&now)
	return ids, nil
}
