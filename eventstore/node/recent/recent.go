// Package recent provides a bounded map that forgets the entries that were not
// used lately.
package recent

// Map is a bounded map that forgets what was not used lately: when the
// young generation is full it becomes the old one, and the former old one is
// dropped. It holds between limit and 2·limit entries. Not safe for
// concurrent use.
type Map[K comparable, V any] struct {
	limit      int
	young, old map[K]V
}

func New[K comparable, V any](limit int) *Map[K, V] {
	return &Map[K, V]{limit: limit, young: make(map[K]V)}
}

func (c *Map[K, V]) Get(key K) (V, bool) {
	if v, ok := c.young[key]; ok {
		return v, true
	}
	v, ok := c.old[key]
	if ok {
		c.Put(key, v)
	}
	return v, ok
}

func (c *Map[K, V]) Put(key K, v V) {
	if len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[K]V, c.limit)
	}
	c.young[key] = v
}
