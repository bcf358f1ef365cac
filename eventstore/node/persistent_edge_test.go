package node

import (
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// A client that has closed its sending side still receives messages.
func TestPersistentHalfClose(t *testing.T) {
	f := serve(t)
	f.team("s", nil)
	call, err := persistent.NewPersistentSubscriptionsClient(f.conn).Read(f.ctx)
	require.NoError(t, err)
	require.NoError(t, call.Send(readGroup("s", "g", 1)))
	require.NoError(t, call.CloseSend())
	m, err := call.Recv()
	require.NoError(t, err)
	require.NotNil(t, m.GetSubscriptionConfirmation())
	f.must("s", writer.Any, fresh(1)...)
	m, err = call.Recv()
	require.NoError(t, err)
	require.NotNil(t, m.GetEvent())
}

// An invalid message from a subscriber ends its call.
func TestPersistentReadRejects(t *testing.T) {
	f := serve(t)
	f.team("s", nil)
	nobody := &persistent.ReadReq{Content: &persistent.ReadReq_Ack_{Ack: &persistent.ReadReq_Ack{Ids: []*shared.UUID{{}}}}}
	unnamed := readGroup("", "g", 1)
	unnamed.GetOptions().StreamOption = nil
	tests := map[string][]*persistent.ReadReq{
		"an ack first":     {nobody},
		"no stream":        {unnamed},
		"a buffer of 0":    {readGroup("s", "g", 0)},
		"no id":            {readGroup("s", "g", 1), nobody},
		"an empty message": {readGroup("s", "g", 1), {}},
	}
	for name, messages := range tests {
		t.Run(name, func(t *testing.T) { f.requireReadEnds(t, codes.InvalidArgument, messages) })
	}
}

// requireReadEnds sends messages to a persistent subscription, which must then end with a
// certain code.
func (f *fixture) requireReadEnds(t *testing.T, code codes.Code, messages []*persistent.ReadReq) {
	t.Helper()
	call, err := persistent.NewPersistentSubscriptionsClient(f.conn).Read(f.ctx)
	require.NoError(t, err)
	for _, m := range messages {
		require.NoError(t, call.Send(m))
	}
	for err == nil {
		_, err = call.Recv()
	}
	require.Equal(t, code, status.Code(err))
}

// Once the number of events reaches the lower bound, the group saves a checkpoint after
// a while. At the upper bound, it saves one immediately. Below the lower bound, it does
// not save one.
func TestPersistentCheckpointSettings(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(9)...)
	team := f.team("s", settings(func(s *esdb.PersistentSubscriptionSettings) {
		s.CheckpointLowerBound, s.CheckpointUpperBound, s.CheckpointAfter = 3, 1000, 1
	}))
	w := team.join(9)
	for range 3 {
		w.ack(w.next(0))
	}
	require.Equal(t, `"2"`, string(team.until(team.checkpoint(), 1).Data))
	require.Len(t, f.events(ofStream(team.checkpoint())), 1)

	never := f.team("s2", settings(func(s *esdb.PersistentSubscriptionSettings) {
		s.CheckpointLowerBound, s.CheckpointUpperBound, s.CheckpointAfter, s.MessageTimeout = 1, 4, 0, 0
	}))
	f.must("s2", writer.Any, fresh(9)...)
	w = never.join(9)
	for range 4 {
		w.ack(w.next(0))
	}
	require.Equal(t, `"3"`, string(never.until(never.checkpoint(), 1).Data))
}

// Replayed messages stay parked until a consumer answers them, even across a
// restart.
func TestPersistentReplayOutlivesTheNode(t *testing.T) {
	fs := vfs.NewMem()
	t.Run("before", func(t *testing.T) {
		f := serve(t, Options{FS: fs})
		f.must("s", writer.Any, fresh(1)...)
		team := f.team("s", settings(checkpointing))
		w := team.join(1)
		w.nack(esdb.NackActionPark, w.next(0))
		team.until(team.parked(), 1)
		require.NoError(t, team.client.ReplayParkedMessages(f.ctx, "s", "g", esdb.ReplayParkedMessagesOptions{}))
		require.Equal(t, "s", w.next(0).Event.StreamID)
		require.Zero(t, team.info().Stats.ParkedMessagesCount)
	})
	t.Run("after", func(t *testing.T) {
		f := serve(t, Options{FS: fs})
		team := &team{fixture: f, client: f.official(), stream: "s", group: "g"}
		require.EqualValues(t, 1, team.info().Stats.ParkedMessagesCount)
		require.NoError(t, team.client.ReplayParkedMessages(f.ctx, "s", "g", esdb.ReplayParkedMessagesOptions{}))
		w := team.join(1) // a subscriber that joins after the request gets the message too
		w.ack(w.next(0))
		team.untilData(record.MetadataPrefix+team.parked(), `{"$tb":1}`)
		require.Zero(t, team.info().Stats.ParkedMessagesCount)
	})
}

// A late acknowledgment is valid even if another consumer has the message by now.
func TestPersistentLateAnswer(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(1)...)
	team := f.team("s", settings(checkpointing, func(s *esdb.PersistentSubscriptionSettings) { s.MessageTimeout, s.MaxRetryCount = 100, 1<<20 }))
	w := team.join(1)
	first := w.Recv().EventAppeared
	require.NotNil(t, first)
	e, again := first.Event, w.Recv().EventAppeared
	require.NotNil(t, again)
	require.Equal(t, e.Event.EventID, again.Event.Event.EventID)
	require.Greater(t, again.RetryCount, first.RetryCount)
	go func() {
		for again := w.Recv(); again.EventAppeared != nil; again = w.Recv() {
			_ = w.Ack(e)
		}
	}()
	team.untilData(team.checkpoint(), `"0"`)
}

// A message over 4 MiB ends a subscriber's call, even if it is the first one.
func TestPersistentMessageTooLarge(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(3)...)
	f.team("s", nil)
	large := strings.Repeat("x", wire.MaxMessage)
	tests := map[string][]*persistent.ReadReq{
		"options": {readGroup("s", large, 1)},
		"a nack":  {readGroup("s", "g", 1), {Content: &persistent.ReadReq_Nack_{Nack: &persistent.ReadReq_Nack{Reason: large}}}},
	}
	for name, messages := range tests {
		t.Run(name, func(t *testing.T) { f.requireReadEnds(t, codes.ResourceExhausted, messages) })
	}
}

// A tombstone reaches the subscribers of its stream as one more event.
func TestPersistentTombstone(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(2)...)
	team := f.team("s", settings(checkpointing))
	w := team.join(1)
	w.ack(w.next(0))
	f.tombstone("s", writer.Any)
	w.ack(w.next(0))
	e := w.next(0)
	require.Equal(t, record.TypeStreamDeleted, e.Event.EventType)
	require.EqualValues(t, record.TombstoneRevision, e.Event.EventNumber)
	w.ack(e)
	team.untilData(team.checkpoint(), `"9223372036854775807"`)
}

// A group skips events that its stream no longer shows.
func TestPersistentSkipsHiddenEvents(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(3)...)
	f.setMeta("s", `{"$tb":2}`)
	team := f.team("s", nil)
	w := team.join(1)
	require.EqualValues(t, 2, w.revision(0))
	f.tombstone("s", writer.Any)
	require.Empty(t, f.infoOf("s", "g").GetLastKnownEventPosition(), "the tombstone does not count")

	gone := f.team("gone", nil)
	f.must("gone", writer.Any, fresh(2)...)
	f.delete("gone", writer.Any)
	f.must("gone", writer.Any, fresh(1)...)
	require.EqualValues(t, 2, gone.join(1).revision(0))
}

// Even if its filter selects almost nothing, a group over $all saves checkpoints and
// does not block the node from closing.
func TestPersistentFilterSelectsFewEvents(t *testing.T) {
	f := serve(t)
	for range 8 {
		f.must("much", writer.Any, fresh(500)...)
	}
	at := f.must("rare", writer.Any, fresh(1)...).GetPosition().GetCommitPosition()
	team := &team{fixture: f, client: f.official(), stream: "$all", group: "g"}
	require.NoError(t, team.client.CreatePersistentSubscriptionToAll(f.ctx, "g", esdb.PersistentAllSubscriptionOptions{
		StartFrom: esdb.Start{}, Settings: settings(checkpointing), Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Regex: "^ra"},
	}))
	w := team.join(1)
	e := w.next(0)
	require.Equal(t, at, e.Event.Position.Commit)
	w.ack(e)
	team.untilDone(e)
}

// Clients before 21.10 send times in ticks and use the deprecated fields for the stream
// and the revision.
func TestPersistentOlderClients(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(3)...)
	wire := persistent.NewPersistentSubscriptionsClient(f.conn)
	_, err := wire.Create(f.ctx, &persistent.CreateReq{Options: &persistent.CreateReq_Options{
		StreamIdentifier: named("s"), GroupName: "g", //nolint:staticcheck // what older clients send
		Settings: &persistent.CreateReq_Settings{
			Revision: 1, ReadBatchSize: 1, HistoryBufferSize: 2, NamedConsumerStrategy: persistent.CreateReq_Pinned, //nolint:staticcheck // what older clients send
			MessageTimeout:  &persistent.CreateReq_Settings_MessageTimeoutTicks{MessageTimeoutTicks: 30_000 * 10_000},
			CheckpointAfter: &persistent.CreateReq_Settings_CheckpointAfterTicks{CheckpointAfterTicks: 2_000 * 10_000},
		},
	}})
	require.NoError(t, err)
	info := f.infoOf("s", "g")
	require.EqualValues(t, 30_000, info.GetMessageTimeoutMilliseconds())
	require.EqualValues(t, 2_000, info.GetCheckPointAfterMilliseconds())
	require.Equal(t, "Pinned", info.GetNamedConsumerStrategy())
	require.EqualValues(t, 1, (&team{fixture: f, client: f.official(), stream: "s", group: "g"}).join(1).revision(0))
	_, err = wire.ReplayParked(f.ctx, &persistent.ReplayParkedReq{Options: &persistent.ReplayParkedReq_Options{
		GroupName: "g", StreamOption: &persistent.ReplayParkedReq_Options_StreamIdentifier{StreamIdentifier: named("s")},
		StopAtOption: &persistent.ReplayParkedReq_Options_StopAt{StopAt: -1},
	}})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// Many workers share a stream. Despite failures, the workers finish each event
// exactly once.
func TestPersistentManyWorkers(t *testing.T) {
	f := serve(t)
	const n = 400
	team := f.team("s", settings(checkpointing, func(s *esdb.PersistentSubscriptionSettings) { s.MaxRetryCount = 1 << 20 }))
	done := make(chan uuid.UUID, 4*n)
	for i := range 4 {
		w := team.join(8)
		go func() {
			for k := i; ; k++ {
				e := w.Recv()
				if e.EventAppeared == nil {
					return
				}
				if got := e.EventAppeared.Event; k%5 == 0 {
					_ = w.Nack("not now", esdb.NackActionRetry, got)
				} else {
					_ = w.Ack(got)
					done <- got.Event.EventID
				}
			}
		}()
	}
	for range n / 10 {
		f.must("s", writer.Any, fresh(10)...)
	}
	seen := map[uuid.UUID]bool{}
	for len(seen) < n {
		select {
		case id := <-done:
			require.False(t, seen[id])
			seen[id] = true
		case <-f.ctx.Done():
			t.Fatalf("%d of %d events", len(seen), n)
		}
	}
	team.untilData(team.checkpoint(), `"399"`)
	require.Zero(t, f.infoOf("s", "g").GetTotalInFlightMessages())
}
