// Package recent provides a bounded map that forgets entries that were not used
// recently.
package recent

// Map is a bounded map. Put adds entries to a young generation. When the young
// generation is full, it becomes the old generation, and the map drops the previous
// old generation. Get moves an entry to the young generation. So the map forgets
// entries that were not used recently, and never has more than 2·limit entries. A
// Map is not safe for concurrent use.
type Map[K comparable, V any] struct {
	limit      int
	young, old map[K]V
}

// New returns a map that remembers at least the last limit entries.
func New[K comparable, V any](limit int) *Map[K, V] {
	return &Map[K, V]{limit: limit, young: make(map[K]V)}
}

// Get returns the value of a key. ok is false if the map does not contain the
// key.
func (c *Map[K, V]) Get(key K) (value V, ok bool) {
	if value, ok = c.young[key]; ok {
		return value, true
	}
	if value, ok = c.old[key]; ok {
		c.Put(key, value)
	}
	return value, ok
}

// PutNew sets the value of a key unless the map contains the key.
func (c *Map[K, V]) PutNew(key K, v V) {
	if _, ok := c.Get(key); !ok {
		c.Put(key, v)
	}
}

// Put sets the value of a key.
func (c *Map[K, V]) Put(key K, v V) {
	if len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[K]V, c.limit)
	}
	c.young[key] = v
}
