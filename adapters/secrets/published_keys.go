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
	s.changing.Lock()
	defer s.changing.Unlock()
	var ids []string
	m := eventstore.Metadata{At: time.Now(), Correlation: uuid.NewString()}
	_, _, err := kind.Handle(ctx, s.log, arena.KeysStream, arena.Keys{}, m, func(k arena.Keys) ([]arena.Event, error) {
		ids = nil
		if len(k.Unpublished()) == 0 {
			return nil, nil
		}
		inUse, err := needed(ctx)
		if err != nil {
			return nil, err
		}
		events := k.Publish(s.SeedKey, inUse)
		for _, e := range events {
			ids = append(ids, e.(arena.SeedKeyPublished).ID)
		}
		return events, nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}
