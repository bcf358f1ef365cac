package arena_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
)

func sealed(id string, version byte) arena.SealedKey {
	return arena.SealedKey{ID: id, Sealed: []byte{version}}
}

func TestAddSealedKeys(t *testing.T) {
	a, b, c := sealed("a", 1), sealed("b", 1), sealed("c", 1)
	published := append(events{added, addedNext, retired}, arena.SeedKeyPublished{ID: "a", Key: revealed})
	tests := map[string]struct {
		keys  events
		given []arena.SealedKey
		when  []arena.SealedKey
		then  []arena.SealedKey // nil if there is no event
	}{
		"the first copy":                       {events{added}, nil, []arena.SealedKey{a}, []arena.SealedKey{a}},
		"a copy before the key is named":       {events{added}, []arena.SealedKey{a}, []arena.SealedKey{b}, []arena.SealedKey{a, b}},
		"nothing to add":                       {published, []arena.SealedKey{a, b}, nil, nil},
		"a new copy replaces a damaged one":    {events{added, addedNext}, []arena.SealedKey{a, b}, []arena.SealedKey{sealed("a", 2)}, []arena.SealedKey{b, sealed("a", 2)}},
		"a retired key is kept":                {events{added, addedNext, retired}, []arena.SealedKey{a, b}, []arena.SealedKey{c}, []arena.SealedKey{a, b, c}},
		"a published key is dropped":           {published, []arena.SealedKey{a, b}, []arena.SealedKey{c}, []arena.SealedKey{b, c}},
		"a key that is not named yet is kept":  {published, []arena.SealedKey{a, c}, []arena.SealedKey{b}, []arena.SealedKey{c, b}},
		"several copies, in the order of when": {events{added}, nil, []arena.SealedKey{b, a}, []arena.SealedKey{b, a}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var state arena.SealedKeys
			if tt.given != nil {
				state = arena.EvolveSealedKeys(state, arena.SeedKeysSealed{Keys: tt.given}, time.Time{})
			}
			before := append([]arena.SealedKey(nil), tt.given...)
			got := state.Add(foldKeys(tt.keys), tt.when)
			require.Equal(t, before, append([]arena.SealedKey(nil), tt.given...), "the state does not change")
			if tt.then == nil {
				require.Empty(t, got)
				return
			}
			require.Equal(t, events{arena.SeedKeysSealed{Keys: tt.then}}, got)
			state = arena.EvolveSealedKeys(state, got[0], time.Time{})
			for _, k := range tt.then {
				found, ok := state.Find(k.ID)
				require.True(t, ok)
				require.Equal(t, k, found)
			}
			require.Equal(t, state, arena.EvolveSealedKeys(state, added, time.Time{}), "other events change nothing")
		})
	}
	_, ok := arena.SealedKeys{}.Find("a")
	require.False(t, ok)
}

func TestSecretSeedKeys(t *testing.T) {
	keys := foldKeys(events{added, addedNext, retired})
	require.Equal(t, keys.Seeds, keys.Secret(), "a retired key is secret until it is published")
	keys = arena.EvolveKeys(keys, arena.SeedKeyPublished{ID: "a", Key: revealed}, time.Time{})
	require.Equal(t, keys.Seeds[1:], keys.Secret())
	seed, ok := keys.Seed("a")
	require.True(t, ok)
	require.Equal(t, keys.Seeds[0], seed)
	_, ok = keys.Seed("c")
	require.False(t, ok)
}

// A player that only lacks a seed key may start. If anything else is wrong, it may not.
func TestCheckDistinguishesAMissingSeedKey(t *testing.T) {
	keys := foldKeys(events{published, email, added, addedNext})
	var missing *arena.MissingSeedKeyError
	require.ErrorAs(t, keys.Check(held(heldA), true), &missing)
	require.Equal(t, "b", missing.ID)
	require.NoError(t, keys.Check(held(heldA), false))
	wrong := arena.HeldSeed{ID: "b", Hash: seedHash}
	for _, h := range []arena.Held{held(wrong), {}, {Platform: platform}} {
		err := keys.Check(h, true)
		require.Error(t, err)
		require.NotErrorAs(t, err, &missing)
	}
}
