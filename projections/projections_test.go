package projections_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
)

// list is a model that keeps what it was given.
type list struct {
	mu   sync.Mutex
	seen []string
	bad  string // cannot be folded
}

func (l *list) Name() string { return "list" }

func (l *list) Filter() eventstore.Filter {
	return eventstore.Filter{StreamPrefixes: []string{"a-"}}
}

func (l *list) Apply(r eventstore.Recorded) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Type == l.bad {
		return errors.New("no such event")
	}
	l.seen = append(l.seen, r.Type)
	return nil
}

func (l *list) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.seen, " ")
}

type named string

func (n named) EventType() string { return string(n) }

func put(t *testing.T, log eventstore.Log, stream string, names ...string) eventstore.Position {
	t.Helper()
	var at eventstore.Position
	for _, name := range names {
		e, err := eventstore.Encode(named(name), eventstore.Metadata{At: time.Unix(1, 0), Correlation: "t"})
		require.NoError(t, err)
		a, err := log.Append(t.Context(), eventstore.StreamID(stream), eventstore.Any, e)
		require.NoError(t, err)
		at = a.Position
	}
	return at
}

func TestRunnerAppliesEachSelectedEventOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, model := memory.New(), &list{}
		put(t, log, "a-1", "one", "two")
		put(t, log, "b-1", "other")
		r := projections.New(log, model, slog.New(slog.DiscardHandler))
		require.NoError(t, r.Sync(t.Context()), "a sync needs no runner")
		require.Equal(t, "one two", model.all())

		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- r.Run(ctx) }()
		require.NoError(t, r.Wait(ctx, put(t, log, "a-2", "three")))
		require.NoError(t, r.Sync(ctx))
		synctest.Wait()
		require.Equal(t, "one two three", model.all())

		var writers sync.WaitGroup
		for i := range 20 {
			writers.Go(func() {
				put(t, log, fmt.Sprint("a-", i), "many")
				require.NoError(t, r.Sync(ctx))
			})
		}
		writers.Wait()
		require.Equal(t, 20, strings.Count(model.all(), "many"), "two followers apply an event once")
		cancel()
		require.NoError(t, <-stopped)
	})
}

func TestRunnerStopsAtWhatItCannotFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, model := memory.New(), &list{bad: "two"}
		at := put(t, log, "a-1", "one", "two", "three")
		r := projections.New(log, model, slog.New(slog.DiscardHandler))
		err := r.Run(t.Context())
		require.ErrorContains(t, err, "list at a-1@1: no such event")
		require.Equal(t, err, r.Err())
		require.Equal(t, "one", model.all())
		require.Equal(t, err, r.Wait(t.Context(), at))
		require.Equal(t, err, r.Sync(t.Context()))
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := projections.New(memory.New(), &list{}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Wait(ctx, 99), context.DeadlineExceeded)
	})
}
