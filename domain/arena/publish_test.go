package arena_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
)

func TestPublish(t *testing.T) {
	secret := func(id string) []byte { return append(make([]byte, 31), id[0]) }
	held := func(id string) ([]byte, bool) { return secret(id), id != "lost" }
	var given events
	for _, id := range []string{"a", "b", "lost", "current"} {
		given = append(given, arena.SeedKeyAdded{ID: id, Hash: arena.HashOf(secret(id))})
	}
	given = append(given, arena.SeedKeyAdded{ID: "other", Hash: arena.HashOf(secret("x"))})
	for _, id := range []string{"a", "b", "lost", "other"} {
		given = append(given, arena.SeedKeyRetired{ID: id})
	}
	keys := foldKeys(given)
	shown := func(id string) arena.Event {
		return arena.SeedKeyPublished{ID: id, Key: arena.RevealedKey(secret(id))}
	}
	require.Len(t, keys.Unpublished(), 4)
	require.Equal(t, []arena.Event{shown("a"), shown("b")}, keys.Publish(held, nil), "publishes no key that is in use, missing from the secrets or different from the log's")
	require.Equal(t, []arena.Event{shown("b")}, keys.Publish(held, map[string]bool{"a": true}), "a match still needs key a")
	require.Equal(t, []arena.Event{shown("b")}, foldKeys(append(given, shown("a"))).Publish(held, nil), "publishes each key only once")
	require.Empty(t, keys.Publish(held, map[string]bool{"a": true, "b": true}))
}
