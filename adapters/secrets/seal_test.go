package secrets

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/arena"
)

func TestSealedCopies(t *testing.T) {
	box, err := newSealer(secret{1})
	require.NoError(t, err)
	wrong, err := newSealer(secret{2})
	require.NoError(t, err)
	key := seedKey{ID: "a", Key: secret{7, 8, 9}}
	sealed := box.seal(key)
	require.False(t, bytes.Contains(sealed.Sealed, key.Key[:]), "the copy is encrypted")
	opened, ok := box.open(sealed)
	require.True(t, ok)
	require.Equal(t, key, opened)
	require.NotEqual(t, sealed, box.seal(key), "each copy has its own nonce")

	_, ok = wrong.open(sealed)
	require.False(t, ok, "another platform key")
	_, ok = box.open(arena.SealedKey{ID: "b", Sealed: sealed.Sealed})
	require.False(t, ok, "another id")
	for i := range sealed.Sealed {
		damaged := bytes.Clone(sealed.Sealed)
		damaged[i] ^= 1
		_, ok = box.open(arena.SealedKey{ID: "a", Sealed: damaged})
		require.False(t, ok, "byte %d is damaged", i)
		_, ok = box.open(arena.SealedKey{ID: "a", Sealed: sealed.Sealed[:i]})
		require.False(t, ok, "only %d bytes", i)
	}
}
