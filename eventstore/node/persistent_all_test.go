package node

import (
	"fmt"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/writer"
)

// A group over $all can have a filter, and an update of the group keeps the filter.
// $all hides the checkpoint and parked streams of groups over $all.
func TestPersistentSubscriptionToAll(t *testing.T) {
	f := serve(t)
	team := &team{fixture: f, client: f.official(), stream: "$all", group: "g"}
	require.NoError(t, team.client.CreatePersistentSubscriptionToAll(f.ctx, "g", esdb.PersistentAllSubscriptionOptions{
		StartFrom: esdb.Start{}, Settings: settings(checkpointing),
		Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"a-"}},
	}))
	f.must("a-1", writer.Any, fresh(1)...)
	f.must("b-1", writer.Any, fresh(1)...)
	f.must("a-2", writer.Any, fresh(1)...)
	w := team.join(1)
	e := w.next(0)
	require.Equal(t, "a-1", e.Event.StreamID)
	w.nack(esdb.NackActionPark, e)
	e = w.next(0)
	require.Equal(t, "a-2", e.Event.StreamID)
	w.ack(e)
	require.Equal(t, "0@a-1", string(team.until(team.parked(), 1).Data))
	team.untilDone(e)
	for _, found := range f.events(ofAll) {
		require.NotContains(t, []string{team.parked(), team.checkpoint()}, string(found.GetEvent().GetStreamIdentifier().GetStreamName()))
	}
	require.NoError(t, team.client.UpdatePersistentSubscriptionToAll(f.ctx, "g", esdb.PersistentAllSubscriptionOptions{StartFrom: esdb.Start{}, Settings: settings(checkpointing)}))
	require.Equal(t, codes.Canceled, w.dropped())
	w = team.join(1)
	require.NoError(t, team.client.ReplayParkedMessagesToAll(f.ctx, "g", esdb.ReplayParkedMessagesOptions{}))
	replayed := w.next(0)
	require.Equal(t, "a-1", replayed.Event.StreamID)
	w.ack(replayed)
	f.must("b-1", writer.Any, fresh(1)...)
	f.must("a-3", writer.Any, fresh(1)...)
	require.Equal(t, "a-3", w.next(0).Event.StreamID, "the filter is kept")
	list, err := team.client.ListPersistentSubscriptionsToAll(f.ctx, esdb.ListPersistentSubscriptionsOptions{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "$all", list[0].EventSource)
	require.NoError(t, team.client.DeletePersistentSubscriptionToAll(f.ctx, "g", esdb.DeletePersistentSubscriptionOptions{}))
	require.Equal(t, codes.Canceled, w.dropped())

	err = team.client.CreatePersistentSubscriptionToAll(f.ctx, "bad", esdb.PersistentAllSubscriptionOptions{
		Filter: &esdb.SubscriptionFilter{Type: esdb.EventFilterType, Regex: "("},
	})
	require.Equal(t, codes.InvalidArgument, status.Code(unwrapped(t, err)))
}

// A group may start at a position of $all at which no event is. Each of its subscribers is
// confirmed and then dropped, until an update moves the start to an event.
func TestPersistentStartBetweenEvents(t *testing.T) {
	f := serve(t)
	at := f.must("s", writer.Any, fresh(1)...).GetPosition().GetCommitPosition()
	f.must("s", writer.Any, fresh(1)...)
	team := &team{fixture: f, client: f.official(), stream: "$all", group: "g"}
	require.NoError(t, team.tryCreate(esdb.Position{Commit: at + 1, Prepare: at + 1}, settings(checkpointing)))
	for range 2 {
		call, err := persistent.NewPersistentSubscriptionsClient(f.conn).Read(f.ctx)
		require.NoError(t, err)
		request := readGroup("", "g", 1)
		request.GetOptions().StreamOption = &persistent.ReadReq_Options_All{All: &shared.Empty{}}
		require.NoError(t, call.Send(request))
		m, err := call.Recv()
		require.NoError(t, err)
		require.Equal(t, "$all::g", m.GetSubscriptionConfirmation().GetSubscriptionId())
		_, err = call.Recv()
		require.Equal(t, codes.Canceled, status.Code(err))
		require.Equal(t, []string{"persistent-subscription-dropped"}, call.Trailer().Get("exception"))
		require.Equal(t, []string{"$all"}, call.Trailer().Get("stream-name"))
		require.Equal(t, []string{"g"}, call.Trailer().Get("group-name"))
	}
	require.Equal(t, codes.Canceled, team.join(1).dropped())
	require.NoError(t, team.client.UpdatePersistentSubscriptionToAll(f.ctx, "g", esdb.PersistentAllSubscriptionOptions{
		StartFrom: esdb.Position{Commit: at, Prepare: at}, Settings: settings(checkpointing),
	}))
	require.Equal(t, at, team.join(1).next(0).Event.Position.Commit)
}

// untilDone waits until the group has saved a checkpoint at the given event, or at
// a later event that the filter skips.
func (t *team) untilDone(e *esdb.ResolvedEvent) {
	t.t.Helper()
	t.untilIs(t.checkpoint(), func(c *esdb.RecordedEvent) bool {
		var commit, prepare uint64
		_, err := fmt.Sscanf(string(c.Data), `"C:%d/P:%d"`, &commit, &prepare)
		require.NoError(t.t, err)
		return commit >= e.OriginalEvent().Position.Commit
	})
}

// If the target of a link does not exist, the message has a link but no event. The
// group parks such a link unchanged.
func TestPersistentLinks(t *testing.T) {
	f := serve(t)
	f.must("t", writer.Any, fresh(1)...)
	link := func(to string) uuid.UUID {
		id := uuid.New()
		e := wireEvent(record.TypeLink, id, to)
		f.must("l", writer.Any, e)
		return id
	}
	id := link("0@t")
	link("7@t")
	team := f.team("l", settings(func(s *esdb.PersistentSubscriptionSettings) { s.ResolveLinkTos = true }))
	w := team.join(5)
	e := w.next(0)
	require.Equal(t, "t", e.Event.StreamID)
	require.Equal(t, id, e.Link.EventID)
	require.Equal(t, e.Link.Position.Commit, *e.Commit)
	w.nack(esdb.NackActionPark, e)
	lost := w.next(0)
	require.Nil(t, lost.Event)
	require.EqualValues(t, 1, lost.Link.EventNumber)
	w.nack(esdb.NackActionPark, lost)
	require.Equal(t, "7@t", string(team.until(team.parked(), 2).Data))
	require.Equal(t, "0@t", string(f.events(ofStream(team.parked()))[0].GetEvent().GetData()))
}

// Several streams may contain events with the same id.
func TestPersistentEventsWithEqualIDs(t *testing.T) {
	f := serve(t)
	id := uuid.New()
	f.must("a", writer.Any, wireEvent("T", id, "{}"))
	f.must("b", writer.Any, wireEvent("T", id, "{}"))
	team := f.team("$all", settings(checkpointing))
	w := team.join(2)
	a, b := w.next(0), w.next(0)
	w.ack(a)
	w.ack(b)
	team.untilDone(b)
}

// GetInfo reports positions, and response times if the settings ask for them.
func TestPersistentInfo(t *testing.T) {
	f := serve(t)
	team := f.team("s", settings(checkpointing, func(s *esdb.PersistentSubscriptionSettings) { s.ExtraStatistics = true }))
	info := f.infoOf("s", "g")
	require.Empty(t, info.GetLastCheckpointedEventPosition())
	require.Empty(t, info.GetLastKnownEventPosition())
	require.Equal(t, "0", info.GetStartFrom())
	require.Equal(t, "Live", info.GetStatus())
	f.must("s", writer.Any, fresh(3)...)
	require.Equal(t, "Behind", f.infoOf("s", "g").GetStatus())
	w := team.join(7)
	w.ack(w.next(0))
	w.ack(w.next(0))
	team.untilData(team.checkpoint(), `"1"`)
	team.untilInfo(func(s *esdb.PersistentSubscriptionStats) bool {
		return s.LastCheckpointedEventRevision != nil && *s.LastCheckpointedEventRevision == 1
	})
	info = f.infoOf("s", "g")
	require.Equal(t, "1", info.GetLastCheckpointedEventPosition())
	require.Equal(t, "2", info.GetLastKnownEventPosition())
	require.Equal(t, "Live", info.GetStatus())
	require.EqualValues(t, 3, info.GetTotalItems())
	c := info.GetConnections()[0]
	require.EqualValues(t, 1, c.GetInFlightMessages())
	require.EqualValues(t, 6, c.GetAvailableSlots())
	require.NotEmpty(t, c.GetFrom())
	keys := []string{}
	for _, m := range c.GetObservedMeasurements() {
		keys = append(keys, m.GetKey())
		require.Positive(t, m.GetValue(), m.GetKey())
	}
	require.ElementsMatch(t, keys, []string{
		"Highest", "Mean", "Median", "Fastest", "Quintile 1", "Quintile 2", "Quintile 3", "Quintile 4", "Quintile 5",
		"90%", "95%", "99%", "99.5%", "99.9%",
	})
	_, err := persistent.NewPersistentSubscriptionsClient(f.conn).GetInfo(f.ctx, &persistent.GetInfoReq{})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// A damaged configuration stops only the persistent subscriptions. They work again once
// the configuration is rewritten.
func TestPersistentConfigDamaged(t *testing.T) {
	f := serve(t)
	f.must("$persistentSubscriptionConfig", writer.Any, wireEvent("$PersistentConfig", uuid.New(), `{"version":"9"}`))
	team := &team{fixture: f, client: f.official(), stream: "s", group: "g"}
	require.Equal(t, codes.Internal, status.Code(unwrapped(t, team.tryCreate(esdb.Start{}, nil))))
	f.must("$persistentSubscriptionConfig", writer.Any, wireEvent("$PersistentConfig", uuid.New(), `{"version":"2","entries":[]}`))
	require.NoError(t, team.tryCreate(esdb.Start{}, nil))
}
