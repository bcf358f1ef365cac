package api

import (
	"container/list"
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

// maxCached is the maximum total size of the cached responses, in bytes after
// compression. The cache does not store a response that is larger than an eighth of
// maxCached.
const maxCached = 64 << 20

// responseCache stores the most recently used immutable responses. It is safe for
// concurrent use.
type responseCache struct {
	making singleflight.Group

	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List // contains *cached, most recently used first
	bytes int
	max   int // bytes
}

type cached struct {
	key string
	*response
}

func newResponseCache(limit int) *responseCache {
	return &responseCache{byKey: map[string]*list.Element{}, order: list.New(), max: limit}
}

// get returns a response from the cache. If the cache does not contain it, get calls
// build once for all concurrent callers. The build continues even if the caller
// cancels.
func (k *responseCache) get(ctx context.Context, key string, build func(context.Context) (any, error)) (*response, error) {
	if r := k.find(key); r != nil {
		return r, nil
	}
	result := k.making.DoChan(key, func() (any, error) {
		if r := k.find(key); r != nil {
			return r, nil // built after the lookup above
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		defer cancel()
		v, err := build(ctx)
		if err != nil {
			return nil, err
		}
		r, err := newJSONResponse(immutable, v)
		if err == nil {
			k.store(key, r)
		}
		return r, err
	})
	return await[*response](ctx, result)
}

// await waits for the result of a call that another caller may have started.
func await[T any](ctx context.Context, result <-chan singleflight.Result) (value T, err error) {
	select {
	case r := <-result:
		if r.Err != nil {
			return value, r.Err
		}
		return r.Val.(T), nil
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// Forget drops the cached responses. Call it if the log has lost events from which they
// may be built.
func (s *Server) Forget() {
	s.responses.clear()
	s.folded.clear()
}

// clear drops all responses.
func (k *responseCache) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byKey)
	k.order.Init()
	k.bytes = 0
}

func (k *responseCache) find(key string) *response {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.byKey[key]
	if !ok {
		return nil
	}
	k.order.MoveToFront(e)
	return e.Value.(*cached).response
}

func (k *responseCache) store(key string, r *response) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.byKey[key]; ok || len(r.compressed) > k.max/8 {
		return
	}
	k.byKey[key] = k.order.PushFront(&cached{key, r})
	k.bytes += len(r.compressed)
	for k.bytes > k.max {
		oldest := k.order.Remove(k.order.Back()).(*cached)
		delete(k.byKey, oldest.key)
		k.bytes -= len(oldest.compressed)
	}
}
