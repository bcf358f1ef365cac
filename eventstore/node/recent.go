package node

// recent is a bounded map that forgets what was not used lately: when the
// young generation is full it becomes the old one, and the former old one is
// dropped. It holds between limit and 2·limit entries. Not safe for
// concurrent use.
type recent[K comparable, V any] struct {
	limit      int
	young, old map[K]V
}

func newRecent[K comparable, V any](limit int) *recent[K, V] {
	return &recent[K, V]{limit: limit, young: make(map[K]V)}
}

func (c *recent[K, V]) get(key K) (V, bool) {
	if v, ok := c.young[key]; ok {
		return v, true
	}
	v, ok := c.old[key]
	if ok {
		c.put(key, v)
	}
	return v, ok
}

func (c *recent[K, V]) put(key K, v V) {
	if len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[K]V, c.limit)
	}
	c.young[key] = v
}
