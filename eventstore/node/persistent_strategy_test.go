package node

import (
	"fmt"
	"slices"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/writer"
)

func strategyOf(name esdb.ConsumerStrategy) *esdb.PersistentSubscriptionSettings {
	return settings(func(s *esdb.PersistentSubscriptionSettings) { s.ConsumerStrategyName = name })
}

func TestPersistentStrategies(t *testing.T) {
	t.Run("round robin", func(t *testing.T) {
		f := serve(t)
		team := f.team("s", strategyOf(esdb.ConsumerStrategyRoundRobin))
		a, b := team.join(4), team.join(4)
		f.must("s", writer.Any, fresh(6)...)
		got := [][]uint64{{a.revision(0), a.revision(0), a.revision(0)}, {b.revision(0), b.revision(0), b.revision(0)}}
		slices.SortFunc(got, slices.Compare[[]uint64])
		require.Equal(t, [][]uint64{{0, 2, 4}, {1, 3, 5}}, got)
	})
	t.Run("dispatch to single", func(t *testing.T) {
		f := serve(t)
		team := f.team("s", strategyOf(esdb.ConsumerStrategyDispatchToSingle))
		a := team.join(2)
		b := team.join(2)
		f.must("s", writer.Any, fresh(4)...)
		require.Equal(t, []uint64{0, 1, 2, 3}, []uint64{a.revision(0), a.revision(0), b.revision(0), b.revision(0)})
	})
	t.Run("pinned", func(t *testing.T) {
		f := serve(t)
		team := f.team("$ce-x", strategyOf(esdb.ConsumerStrategyPinned))
		workers := []*worker{team.join(100), team.join(100)}
		for range 3 {
			for i := range 10 {
				f.must(fmt.Sprintf("x-%d", i), writer.Any, fresh(1)...)
			}
		}
		pinnedTo(t, f, team, workers, 30, func(e *esdb.ResolvedEvent) string {
			stream, _, ok := record.ParseLink(string(e.OriginalEvent().Data))
			require.True(t, ok)
			return stream
		})
	})
	t.Run("pinned by correlation", func(t *testing.T) {
		f := serve(t)
		_, err := persistent.NewPersistentSubscriptionsClient(f.conn).Create(f.ctx, &persistent.CreateReq{Options: &persistent.CreateReq_Options{
			StreamOption: &persistent.CreateReq_Options_Stream{Stream: &persistent.CreateReq_StreamOptions{StreamIdentifier: named("s")}}, GroupName: "g",
			Settings: &persistent.CreateReq_Settings{ReadBatchSize: 20, HistoryBufferSize: 500, ConsumerStrategy: "PinnedByCorrelation"},
		}})
		require.NoError(t, err)
		team := &team{fixture: f, client: f.official(), stream: "s", group: "g"}
		require.EqualValues(t, "PinnedByCorrelation", team.info().Settings.ConsumerStrategyName)
		workers := []*worker{team.join(100), team.join(100)}
		for i := range 30 {
			e := wireEvent("T", uuid.New(), "{}")
			e.CustomMetadata = fmt.Appendf(nil, `{"$correlationId":"%d"}`, i%10)
			f.must("s", writer.Any, e)
		}
		pinnedTo(t, f, team, workers, 30, func(e *esdb.ResolvedEvent) string { return string(e.Event.UserMetadata) })
	})
}

// pinnedTo receives n messages. It requires that all messages with the same key go
// to the same worker, and that more than one worker gets messages.
func pinnedTo(t *testing.T, f *fixture, team *team, workers []*worker, n int, key func(*esdb.ResolvedEvent) string) {
	t.Helper()
	type taken struct {
		worker int
		key    string
	}
	all := make(chan taken, n)
	for i, w := range workers {
		go func() {
			for {
				e := w.Recv()
				if e.EventAppeared == nil {
					return
				}
				all <- taken{i, key(e.EventAppeared.Event)}
			}
		}()
	}
	owner, used := map[string]int{}, map[int]bool{}
	for range n {
		select {
		case got := <-all:
			if of, ok := owner[got.key]; ok {
				require.Equal(t, of, got.worker, got.key)
			}
			owner[got.key], used[got.worker] = got.worker, true
		case <-f.ctx.Done():
			t.Fatal("too few messages")
		}
	}
	require.Len(t, owner, 10)
	require.Len(t, used, 2)
}
