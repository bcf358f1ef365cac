package esdb

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/node"
)

// With every event, the node's clock jumps by an hour or a day, forwards or
// backwards. Revisions, positions, retries, subscriptions and deadlines must not
// depend on that clock.
func TestNodeClockJumps(t *testing.T) {
	t.Parallel()
	const appends = 300
	rng := logtest.Random(t)
	jumps := []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, 0}
	var off, low, high atomic.Int64
	n, err := node.Open(node.Options{
		Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Now().Round(0).Add(time.Duration(off.Load())) },
	})
	require.NoError(t, err)
	log := openDirect(t, serveNode(t, n))
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	seen := make(chan eventstore.Recorded, appends)
	go func() {
		defer close(seen)
		n := 0
		for m, err := range log.Subscribe(ctx, 0, eventstore.Filter{StreamPrefixes: []string{"jumps-"}}) {
			if err != nil || ctx.Err() != nil {
				return
			}
			if m.Event != nil {
				seen <- *m.Event
				if n++; n == appends {
					return
				}
			}
		}
	}()
	var before eventstore.Appended
	for i := range appends {
		off.Store(int64(jumps[rng.IntN(len(jumps))]))
		low.Store(min(low.Load(), off.Load()))
		high.Store(max(high.Load(), off.Load()))
		e := events(1)
		appended, err := log.Append(ctx, "jumps-1", eventstore.Expected(i-1), e...)
		require.NoError(t, err)
		off.Store(int64(jumps[rng.IntN(len(jumps))]))
		again, err := log.Append(ctx, "jumps-1", eventstore.Expected(i-1), e...)
		require.NoError(t, err)
		require.Equal(t, appended, again, "a retry at another time of day")
		require.EqualValues(t, i, appended.Revision)
		require.Greater(t, appended.Position, before.Position)
		before = appended
	}
	short, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	for _, err := range log.Subscribe(short, 0, eventstore.Filter{}) {
		require.NoError(t, err)
	}
	require.True(t, errors.Is(short.Err(), context.DeadlineExceeded) && ctx.Err() == nil, "a deadline does not depend on the clock of the node")
	i := 0
	for r := range seen {
		require.EqualValues(t, i, r.Revision)
		i++
	}
	require.Equal(t, appends, i)
	t.Logf("%d appends and as many retries while the node's clock was off by %v to %v: each event was stored once and delivered once, in order",
		appends, time.Duration(low.Load()), time.Duration(high.Load()))
}
