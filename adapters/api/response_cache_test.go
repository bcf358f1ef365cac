package api

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
)

// noise returns random text, which compresses badly.
func noise(rng *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return hex.EncodeToString(b)
}

// The cache returns the responses that were built. It keeps recently used responses,
// and stays below its maximum size.
func TestResponseCache(t *testing.T) {
	rng := logtest.Random(t)
	k := newResponseCache(64 << 10)
	bodies, made := map[string]string{}, map[string]int{}
	ask := func(key string) {
		l, err := k.get(t.Context(), key, func(context.Context) (any, error) { made[key]++; return bodies[key], nil })
		require.NoError(t, err)
		plain, err := l.content()
		require.NoError(t, err)
		want, err := json.Marshal(bodies[key])
		require.NoError(t, err)
		require.Equal(t, string(want), string(plain))
		require.Len(t, want, l.size)
		require.Equal(t, etagOf(want), l.etag)
		require.LessOrEqual(t, k.bytes, k.max)
		bytes := 0
		for e := k.order.Front(); e != nil; e = e.Next() {
			bytes += len(e.Value.(*cached).compressed)
		}
		require.Equal(t, bytes, k.bytes)
		require.Len(t, k.byKey, k.order.Len())
	}
	bodies["always"] = noise(rng, 1000)
	bodies["large"] = noise(rng, 10<<10)
	for i := range 200 {
		key := fmt.Sprint(i)
		bodies[key] = noise(rng, 1+rng.IntN(4000))
		ask(key)
		ask("always")
		ask("large")
	}
	require.Equal(t, 1, made["always"], "a response that is in use stays")
	require.Equal(t, 200, made["large"], "a large response is not stored")
	ask("0")
	require.Equal(t, 2, made["0"], "the oldest response is dropped")
}

// Concurrent callers share one build, which continues even if the first caller cancels.
// The cache does not store errors.
func TestResponseCacheBuildsOnce(t *testing.T) {
	k := newResponseCache(1 << 20)
	var made atomic.Int64
	begun, finish := make(chan struct{}), make(chan struct{})
	body := func(ctx context.Context) (any, error) {
		if made.Add(1) == 1 {
			close(begun)
		}
		<-finish
		return "body", ctx.Err()
	}
	first, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := k.get(first, "key", body); left <- err }()
	<-begun
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			l, err := k.get(context.Background(), "key", body)
			if err != nil || l.size != len(`"body"`) {
				panic(fmt.Sprint(l, err))
			}
		})
	}
	close(finish)
	all.Wait()
	require.EqualValues(t, 1, made.Load())

	fault := errors.New("the log is unavailable")
	_, err := k.get(t.Context(), "other", func(context.Context) (any, error) { return nil, fault })
	require.ErrorIs(t, err, fault)
	_, err = k.get(t.Context(), "other", func(context.Context) (any, error) { return 1, nil })
	require.NoError(t, err)
}
