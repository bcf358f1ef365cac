package secrets_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
	"hexarena/eventstore/memory"
)

// A retired seed key is shown once its last match is over, and the one in use
// never.
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
	nobodyAsks := func(context.Context) (map[string]bool, error) {
		require.Fail(t, "nothing waits to be shown")
		return nil, nil
	}
	publish := func(needed func(context.Context) (map[string]bool, error)) []string {
		ids, err := s.PublishRetired(t.Context(), needed)
		require.NoError(t, err)
		return ids
	}
	require.Empty(t, publish(nobodyAsks))
	rotate(t, s)
	require.Empty(t, publish(needs(old)), "a match needs it")
	unknown := errors.New("the ladder is away")
	_, err := s.PublishRetired(t.Context(), func(context.Context) (map[string]bool, error) { return nil, unknown })
	require.ErrorIs(t, err, unknown)
	current, _ := s.CurrentSeedKey()
	require.Equal(t, []string{old}, publish(needs(current)))
	require.Empty(t, publish(nobodyAsks))

	keys, _ := keysOf(t, log)
	shown := arena.RevealedKey(oldKey)
	require.Equal(t, &shown, keys.Seeds[0].Revealed)
	require.Nil(t, keys.Seeds[1].Revealed)
	require.Equal(t, keys.Seeds[0].Hash, arena.HashOf(keys.Seeds[0].Revealed[:]))
}
