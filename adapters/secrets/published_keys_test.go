package secrets_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
	"hexarena/eventstore/memory"
)

// A retired seed key is published when no match needs it. The active key is never
// published.
func TestPublishRetired(t *testing.T) {
	log := memory.New()
	s := open(t, log, pathIn(t.TempDir()))
	old, oldKey := s.CurrentSeedKey()
	needs := func(ids ...string) func(context.Context) (map[string]bool, error) {
		return func(context.Context) (map[string]bool, error) {
			needed := map[string]bool{}
			for _, id := range ids {
				needed[id] = true
			}
			return needed, nil
		}
	}
	neverCalled := func(context.Context) (map[string]bool, error) {
		require.Fail(t, "no key waits to be published")
		return nil, nil
	}
	publish := func(needed func(context.Context) (map[string]bool, error)) []string {
		ids, err := s.PublishRetired(t.Context(), needed)
		require.NoError(t, err)
		return ids
	}
	require.Empty(t, publish(neverCalled))
	rotate(t, s)
	require.Empty(t, publish(needs(old)), "a match needs the key")
	unknown := errors.New("the ladder is unavailable")
	_, err := s.PublishRetired(t.Context(), func(context.Context) (map[string]bool, error) { return nil, unknown })
	require.ErrorIs(t, err, unknown)
	current, _ := s.CurrentSeedKey()
	require.Equal(t, []string{old}, publish(needs(current)))
	require.Empty(t, publish(neverCalled))

	keys, _ := keysOf(t, log)
	published := arena.RevealedKey(oldKey)
	require.Equal(t, &published, keys.Seeds[0].Revealed)
	require.Nil(t, keys.Seeds[1].Revealed)
	require.Equal(t, keys.Seeds[0].Hash, arena.HashOf(keys.Seeds[0].Revealed[:]))
}
