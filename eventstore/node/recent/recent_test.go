package recent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPutNewKeepsTheFirstValue(t *testing.T) {
	c := New[int, string](2)
	c.PutNew(1, "a")
	c.PutNew(1, "b")
	value, known := c.Get(1)
	require.True(t, known)
	require.Equal(t, "a", value)
}

func TestMapForgetsUnusedEntries(t *testing.T) {
	c := New[int, string](2)
	c.Put(1, "a")
	c.Put(2, "b")
	c.Put(3, "c")
	_, known := c.Get(1) // this use keeps it
	require.True(t, known)
	c.Put(4, "d")
	c.Put(5, "e")
	for key, want := range map[int]bool{1: true, 2: false, 4: true, 5: true} {
		_, known := c.Get(key)
		require.Equal(t, want, known, "%d", key)
	}
}
