package eventstore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The type weighed is a fold. A test sets its weight.
type weighed struct {
	id     StreamID
	weight int
}

func newWeighedCache(limit int) *Cache[weighed] {
	return NewCache(limit, func(id StreamID) *weighed { return &weighed{id: id} }, func(w *weighed) int { return w.weight })
}

// The function use() calls c.Use for a stream, sets the weight of the fold, and
// releases it.
func use(c *Cache[weighed], id StreamID, weight int) *weighed {
	fold, release := c.Use(id)
	defer release()
	fold.weight = weight
	return fold
}

func cachedIDs(c *Cache[weighed], ids ...StreamID) (found []StreamID) {
	for _, id := range ids {
		if _, ok := c.Find(id); ok {
			found = append(found, id)
		}
	}
	return found
}

func TestCacheEvictsLeastRecentlyUsed(t *testing.T) {
	c := newWeighedCache(10)
	first := use(c, "a", 4)
	use(c, "b", 4)
	require.Same(t, first, use(c, "a", 4))
	use(c, "c", 4)
	require.Equal(t, []StreamID{"a", "c"}, cachedIDs(c, "a", "b", "c"))
	use(c, "c", 7)
	require.Equal(t, []StreamID{"c"}, cachedIDs(c, "a", "b", "c"), "a heavier fold evicts others")
	use(c, "d", 11)
	require.Empty(t, c.byID, "a fold over the limit is not kept")
}

func TestCacheDropsFoldWithoutWeight(t *testing.T) {
	c := newWeighedCache(10)
	first := use(c, "a", 0)
	require.Empty(t, c.byID)
	require.NotSame(t, first, use(c, "a", 1))
}

// A fold in use stays in the cache, so that all users of a stream share one fold.
func TestCacheKeepsFoldInUse(t *testing.T) {
	c := newWeighedCache(1)
	fold, release := c.Use("a")
	again, releaseAgain := c.Use("a")
	require.Same(t, fold, again)
	fold.weight = 1
	releaseAgain()
	use(c, "b", 1)
	use(c, "c", 1)
	require.Equal(t, []StreamID{"c"}, cachedIDs(c, "b", "c"))
	_, ok := c.Find("a")
	require.True(t, ok)
	release()
	require.Equal(t, []StreamID{"c"}, cachedIDs(c, "a", "b", "c"), "c was used later")
}
