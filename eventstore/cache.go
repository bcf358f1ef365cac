package eventstore

import (
	"container/list"
	"sync"
)

// Cache keeps the folded states of the most recently used streams, so that the
// next use of a stream reads only its newer events. All users of a stream share
// one fold. The cache never evicts a fold that is in use. A Cache is safe for
// concurrent use, but the folds need their own locks.
type Cache[F any] struct {
	limit  int // the maximum sum of the weights
	create func(StreamID) *F
	weigh  func(*F) int

	mu     sync.Mutex                 // guards the fields below
	byID   map[StreamID]*list.Element // elements of recent
	recent *list.List                 // contains *cached[F], the most recently used first
	weight int                        // the sum of the weights
}

type cached[F any] struct {
	id     StreamID
	fold   *F
	users  int
	weight int // measured at the last release
}

// NewCache returns an empty cache. The weights of all cached folds add up to at
// most limit. The function create returns the fold of a stream before its first
// event. The cache weighs a fold each time its last user releases it, and
// immediately evicts a fold that weighs 0.
func NewCache[F any](limit int, create func(StreamID) *F, weigh func(*F) int) *Cache[F] {
	return &Cache[F]{limit: limit, create: create, weigh: weigh, byID: map[StreamID]*list.Element{}, recent: list.New()}
}

// Use returns the fold of a stream. Call release when you no longer need it.
func (c *Cache[F]) Use(id StreamID) (fold *F, release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byID[id]
	if ok {
		c.recent.MoveToFront(at)
	} else {
		at = c.recent.PushFront(&cached[F]{id: id, fold: c.create(id)})
		c.byID[id] = at
	}
	e := at.Value.(*cached[F])
	e.users++
	return e.fold, func() { c.release(at) }
}

// Find returns the fold of a stream if the fold is cached. A call to Find does
// not count as a use of the fold.
func (c *Cache[F]) Find(id StreamID) (*F, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	return at.Value.(*cached[F]).fold, true
}

func (c *Cache[F]) release(at *list.Element) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := at.Value.(*cached[F])
	if e.users--; e.users > 0 {
		return
	}
	weight := c.weigh(e.fold)
	c.weight += weight - e.weight
	e.weight = weight
	if weight == 0 {
		c.evict(at)
	}
	for at := c.recent.Back(); at != nil && c.weight > c.limit; {
		oldest := at
		at = at.Prev()
		c.evict(oldest)
	}
}

// evict drops a fold unless it is in use.
func (c *Cache[F]) evict(at *list.Element) {
	if e := at.Value.(*cached[F]); e.users == 0 {
		delete(c.byID, e.id)
		c.recent.Remove(at)
		c.weight -= e.weight
	}
}
