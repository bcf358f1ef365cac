package node

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// team is one persistent subscription that the official client uses.
type team struct {
	*fixture
	client *esdb.Client
	stream string // "$all" for all
	group  string
}

// The function settings() returns the client's default settings with the given changes.
// Messages do not time out, because on a busy machine a test may take longer than the
// client's default of 30 seconds.
func settings(change ...func(*esdb.PersistentSubscriptionSettings)) *esdb.PersistentSubscriptionSettings {
	s := esdb.SubscriptionSettingsDefault()
	s.MessageTimeout = 0
	for _, c := range change {
		c(&s)
	}
	return &s
}

// The function checkpointing() makes a group save a checkpoint after every ack or nack.
func checkpointing(s *esdb.PersistentSubscriptionSettings) {
	s.CheckpointLowerBound, s.CheckpointUpperBound = 1, 1
}

// team creates a group that begins at the start of its source.
func (f *fixture) team(stream string, s *esdb.PersistentSubscriptionSettings) *team {
	f.t.Helper()
	if s == nil {
		s = settings()
	}
	t := &team{fixture: f, client: f.official(), stream: stream, group: "g"}
	t.create(esdb.Start{}, s)
	return t
}

func (t *team) create(from esdb.StreamPosition, s *esdb.PersistentSubscriptionSettings) {
	t.t.Helper()
	require.NoError(t.t, t.tryCreate(from, s))
}

func (t *team) tryCreate(from any, s *esdb.PersistentSubscriptionSettings) error {
	if t.stream == "$all" {
		return t.client.CreatePersistentSubscriptionToAll(t.ctx, t.group, esdb.PersistentAllSubscriptionOptions{StartFrom: from.(esdb.AllPosition), Settings: s})
	}
	return t.client.CreatePersistentSubscription(t.ctx, t.stream, t.group, esdb.PersistentStreamSubscriptionOptions{StartFrom: from.(esdb.StreamPosition), Settings: s})
}

func (t *team) tryJoin(size uint32) (*esdb.PersistentSubscription, error) {
	o := esdb.SubscribeToPersistentSubscriptionOptions{BufferSize: size}
	if t.stream == "$all" {
		return t.client.SubscribeToPersistentSubscriptionToAll(t.ctx, t.group, o)
	}
	return t.client.SubscribeToPersistentSubscription(t.ctx, t.stream, t.group, o)
}

// worker is one subscriber.
type worker struct {
	t *testing.T
	*esdb.PersistentSubscription
}

func (t *team) join(size uint32) *worker {
	t.t.Helper()
	s, err := t.tryJoin(size)
	require.NoError(t.t, err)
	t.t.Cleanup(func() { _ = s.Close() })
	return &worker{t.t, s}
}

// next returns the next event. It requires that the event was retried the given number
// of times.
func (w *worker) next(retries int) *esdb.ResolvedEvent {
	w.t.Helper()
	e := w.Recv()
	require.NotNil(w.t, e.EventAppeared, "%v", e.SubscriptionDropped)
	require.Equal(w.t, retries, e.EventAppeared.RetryCount)
	return e.EventAppeared.Event
}

// revision returns the revision of the next event.
func (w *worker) revision(retries int) uint64 {
	w.t.Helper()
	return w.next(retries).OriginalEvent().EventNumber
}

func (w *worker) ack(events ...*esdb.ResolvedEvent) {
	w.t.Helper()
	require.NoError(w.t, w.Ack(events...))
}

func (w *worker) nack(action esdb.NackAction, events ...*esdb.ResolvedEvent) {
	w.t.Helper()
	require.NoError(w.t, w.Nack("because", action, events...))
}

func (w *worker) dropped() codes.Code {
	w.t.Helper()
	e := w.Recv()
	require.NotNil(w.t, e.SubscriptionDropped)
	return status.Code(e.SubscriptionDropped.Error)
}

func (t *team) info() *esdb.PersistentSubscriptionInfo {
	t.t.Helper()
	var info *esdb.PersistentSubscriptionInfo
	var err error
	if t.stream == "$all" {
		info, err = t.client.GetPersistentSubscriptionInfoToAll(t.ctx, t.group, esdb.GetPersistentSubscriptionOptions{})
	} else {
		info, err = t.client.GetPersistentSubscriptionInfo(t.ctx, t.stream, t.group, esdb.GetPersistentSubscriptionOptions{})
	}
	require.NoError(t.t, err)
	return info
}

// untilInfo waits until the group's info meets a condition. Waiting is necessary
// because a new checkpoint appears in the checkpoint stream a moment before the group
// reports it.
func (t *team) untilInfo(wanted func(*esdb.PersistentSubscriptionStats) bool) {
	t.t.Helper()
	for !wanted(t.info().Stats) {
		require.NoError(t.t, t.ctx.Err(), "the info never met the condition")
		runtime.Gosched()
	}
}

// The method until() waits for a stream to have n visible events and returns the last
// one.
func (t *team) until(stream string, n int) *esdb.RecordedEvent {
	t.t.Helper()
	return t.untilIs(stream, func(*esdb.RecordedEvent) bool { n--; return n == 0 })
}

// untilData waits until a stream has an event with the given data.
func (t *team) untilData(stream, data string) {
	t.t.Helper()
	t.untilIs(stream, func(e *esdb.RecordedEvent) bool { return string(e.Data) == data })
}

func (t *team) untilIs(stream string, wanted func(*esdb.RecordedEvent) bool) *esdb.RecordedEvent {
	t.t.Helper()
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	s, err := t.client.SubscribeToStream(ctx, stream, esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	require.NoError(t.t, err)
	defer s.Close()
	for {
		e := s.Recv()
		require.Nil(t.t, e.SubscriptionDropped)
		if e.EventAppeared != nil && wanted(e.EventAppeared.OriginalEvent()) {
			return e.EventAppeared.OriginalEvent()
		}
	}
}

func (t *team) parked() string {
	return "$persistentsubscription-" + t.stream + "::" + t.group + "-parked"
}
func (t *team) checkpoint() string {
	return "$persistentsubscription-" + t.stream + "::" + t.group + "-checkpoint"
}

// The official client gets events in order, up to its buffer size. It gets more
// events after it acknowledges some.
func TestPersistentSubscription(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(3)...)
	team := f.team("s", nil)
	w := team.join(2)
	first := w.next(0)
	require.EqualValues(t, 0, first.OriginalEvent().EventNumber)
	require.Equal(t, first.Event.Position.Commit, *first.Commit)
	second := w.next(0)
	w.ack(first) // the buffer holds two messages
	require.EqualValues(t, 2, w.revision(0))
	w.ack(second)
	f.must("s", writer.Any, fresh(1)...)
	require.EqualValues(t, 3, w.revision(0))
	require.Len(t, team.info().Connections, 1)
	require.EqualValues(t, 2, team.info().Connections[0].InFlightMessages)
}

// The start of a group is inclusive, unlike the start of an ordinary subscription.
func TestPersistentStart(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(1)...)
	at := f.must("s", writer.Any, fresh(1)...).GetPosition().GetCommitPosition()
	for name, from := range map[string]esdb.StreamPosition{"0": esdb.Start{}, "1": esdb.Revision(1), "-1": esdb.End{}, "7": esdb.Revision(7)} {
		team := &team{fixture: f, client: f.official(), stream: "s", group: name}
		team.create(from, nil)
		require.Equal(t, name, f.infoOf("s", name).GetStartFrom())
	}
	require.EqualValues(t, 0, (&team{fixture: f, client: f.official(), stream: "s", group: "0"}).join(1).revision(0))
	require.EqualValues(t, 1, (&team{fixture: f, client: f.official(), stream: "s", group: "1"}).join(1).revision(0))
	f.must("s", writer.Any, fresh(6)...)
	require.EqualValues(t, 2, (&team{fixture: f, client: f.official(), stream: "s", group: "-1"}).join(1).revision(0))
	require.EqualValues(t, 7, (&team{fixture: f, client: f.official(), stream: "s", group: "7"}).join(1).revision(0))

	all := &team{fixture: f, client: f.official(), stream: "$all", group: "p"}
	require.NoError(t, all.tryCreate(esdb.Position{Commit: at, Prepare: at}, nil))
	require.Equal(t, fmt.Sprintf("C:%d/P:%d", at, at), f.infoOf("", "p").GetStartFrom())
	require.Equal(t, at, all.join(1).next(0).Event.Position.Commit)
	end := &team{fixture: f, client: f.official(), stream: "$all", group: "e"}
	require.NoError(t, end.tryCreate(esdb.End{}, nil))
	require.Equal(t, "C:-1/P:-1", f.infoOf("", "e").GetStartFrom())
	beyond := &team{fixture: f, client: f.official(), stream: "$all", group: "b"}
	require.Equal(t, codes.Internal, status.Code(unwrapped(t, beyond.tryCreate(esdb.Position{Commit: 1 << 40, Prepare: 1 << 40}, nil))))
}

func unwrapped(t *testing.T, err error) error {
	t.Helper()
	var e *esdb.Error
	require.ErrorAs(t, err, &e)
	return e.Err()
}

// infoOf asks the node for a group's info. An empty stream means $all.
func (f *fixture) infoOf(stream, group string) *persistent.SubscriptionInfo {
	f.t.Helper()
	o := &persistent.GetInfoReq_Options{GroupName: group, StreamOption: &persistent.GetInfoReq_Options_StreamIdentifier{StreamIdentifier: named(stream)}}
	if stream == "" {
		o.StreamOption = &persistent.GetInfoReq_Options_All{All: &shared.Empty{}}
	}
	resp, err := persistent.NewPersistentSubscriptionsClient(f.conn).GetInfo(f.ctx, &persistent.GetInfoReq{Options: o})
	require.NoError(f.t, err)
	return resp.GetSubscriptionInfo()
}

// A nack with Unknown or Retry retries a message. A nack with Park parks it as a link,
// and a nack with Skip or Stop skips it. The connection stays open.
func TestPersistentNack(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(5)...)
	team := f.team("s", settings(checkpointing))
	w := team.join(1)
	w.nack(esdb.NackActionUnknown, w.next(0))
	w.nack(esdb.NackActionRetry, w.next(1))
	w.nack(esdb.NackActionPark, w.next(2))
	w.nack(esdb.NackActionSkip, w.next(0))
	w.nack(esdb.NackActionStop, w.next(0))
	e := w.next(0)
	require.EqualValues(t, 3, e.OriginalEvent().EventNumber)
	w.nack(esdb.NackActionPark, e)
	require.EqualValues(t, 4, w.revision(0))

	link := team.until(team.parked(), 2)
	require.Equal(t, record.TypeLink, link.EventType)
	require.Equal(t, "3@s", string(link.Data))
	require.Regexp(t, `^\{"added":"[^"]+","reason":"Client explicitly NAK'ed message.\\nbecause","subscriptionEventNumber":3\}$`, string(link.UserMetadata))
	first := f.events(ofStream(team.parked()))[0].GetEvent()
	require.Equal(t, "0@s", string(first.GetData()))
	require.NotContains(t, string(first.GetCustomMetadata()), "subscriptionEventNumber")
	require.EqualValues(t, 2, team.info().Stats.ParkedMessagesCount)
	team.untilData(team.checkpoint(), `"3"`)
}

// Each nack and each disconnect uses up a retry. If no retries are left, the message is
// parked. The tests of package persistent cover timeouts.
func TestPersistentRetriesEnd(t *testing.T) {
	once := func(s *esdb.PersistentSubscriptionSettings) { s.MaxRetryCount = 1 }
	t.Run("nack", func(t *testing.T) {
		f := serve(t)
		f.must("s", writer.Any, fresh(2)...)
		team := f.team("s", settings(once))
		w := team.join(1)
		w.nack(esdb.NackActionRetry, w.next(0))
		w.nack(esdb.NackActionRetry, w.next(1))
		require.EqualValues(t, 1, w.revision(0))
		require.Contains(t, string(team.until(team.parked(), 1).UserMetadata), `"reason":"Reached retry count of 1"`)
	})
	t.Run("disconnect", func(t *testing.T) {
		f := serve(t)
		f.must("s", writer.Any, fresh(2)...)
		team := f.team("s", settings(once))
		w := team.join(2)
		require.EqualValues(t, 0, w.revision(0))
		require.EqualValues(t, 1, w.revision(0))
		require.NoError(t, w.Close())
		other := team.join(2)
		require.EqualValues(t, 0, other.revision(1))
		require.EqualValues(t, 1, other.revision(1))
		require.NoError(t, other.Close())
		require.Equal(t, "1@s", string(team.until(team.parked(), 2).Data))
	})
}

// A replay sends the parked links with their targets. The client acknowledges them with
// the ids of the links. Then the node truncates the parked stream. A replay with
// stop_at N covers the revisions below N.
func TestPersistentReplay(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(3)...)
	team := f.team("s", nil)
	w := team.join(5)
	for range 3 {
		w.nack(esdb.NackActionPark, w.next(0))
	}
	team.until(team.parked(), 3)
	require.NoError(t, team.client.ReplayParkedMessages(f.ctx, "s", "g", esdb.ReplayParkedMessagesOptions{StopAt: 2}))
	require.EqualValues(t, 1, team.info().Stats.ParkedMessagesCount)
	for i := range uint64(2) {
		e := w.next(0)
		require.Equal(t, i, e.Event.EventNumber)
		require.Equal(t, "s", e.Event.StreamID)
		require.Equal(t, team.parked(), e.Link.StreamID)
		require.Equal(t, e.Link.Position.Commit, *e.Commit)
		w.ack(e)
	}
	team.untilData(record.MetadataPrefix+team.parked(), `{"$tb":2}`)
	require.NoError(t, team.client.ReplayParkedMessages(f.ctx, "s", "g", esdb.ReplayParkedMessagesOptions{}))
	again := w.next(0)
	require.EqualValues(t, 2, again.Event.EventNumber)
	w.nack(esdb.NackActionPark, again)
	team.untilData(record.MetadataPrefix+team.parked(), `{"$tb":3}`)
	link := team.until(team.parked(), 1)
	require.Equal(t, "2@s", string(link.Data), "the message itself, not the link to it")
	require.EqualValues(t, 3, link.EventNumber)
	require.EqualValues(t, 1, team.info().Stats.ParkedMessagesCount)
}

// When the node is reopened, a group continues after its checkpoint.
func TestPersistentSubscriptionOutlivesTheNode(t *testing.T) {
	fs := vfs.NewMem()
	t.Run("before", func(t *testing.T) {
		f := serve(t, Options{FS: fs})
		f.must("s", writer.Any, fresh(4)...)
		team := f.team("s", settings(checkpointing))
		all := f.team("$all", settings(checkpointing))
		w, a := team.join(9), all.join(9)
		e := []*esdb.ResolvedEvent{w.next(0), w.next(0), w.next(0), w.next(0)}
		w.ack(e[3])
		w.ack(e[0])
		w.ack(e[1]) // message 2 is not acknowledged, but message 3 is
		team.untilData(team.checkpoint(), `"1"`)
		require.Equal(t, "$SubscriptionCheckpoint", f.events(ofStream(team.checkpoint()))[0].GetEvent().GetMetadata()[wire.MetaType])
		first := a.next(0)
		a.ack(first)
		at := first.Event.Position.Commit
		all.untilData(all.checkpoint(), fmt.Sprintf(`"C:%d/P:%d"`, at, at))
		team.untilInfo(func(s *esdb.PersistentSubscriptionStats) bool {
			return s.LastCheckpointedEventRevision != nil && *s.LastCheckpointedEventRevision == 1
		})
		all.untilInfo(func(s *esdb.PersistentSubscriptionStats) bool {
			return s.LastCheckpointedPosition != nil && s.LastCheckpointedPosition.Commit == at
		})
	})
	t.Run("after", func(t *testing.T) {
		f := serve(t, Options{FS: fs})
		w := (&team{fixture: f, client: f.official(), stream: "s", group: "g"}).join(9)
		require.EqualValues(t, 2, w.revision(0))
		require.EqualValues(t, 3, w.revision(0))
		a := (&team{fixture: f, client: f.official(), stream: "$all", group: "g"}).join(1)
		require.EqualValues(t, 1, a.revision(0))
	})
}

func TestPersistentErrors(t *testing.T) {
	f := serve(t)
	team := f.team("s", settings(func(s *esdb.PersistentSubscriptionSettings) { s.MaxSubscriberCount = 1 }))
	wire := persistent.NewPersistentSubscriptionsClient(f.conn)
	trailers := func(name string, md metadata.MD, group string) {
		t.Helper()
		require.Equal(t, []string{name}, md.Get("exception"))
		require.Equal(t, []string{"s"}, md.Get("stream-name"))
		require.Equal(t, []string{group}, md.Get("group-name"))
	}
	require.Equal(t, esdb.ErrorCodeResourceAlreadyExists, code(t, team.tryCreate(esdb.Start{}, nil)))

	missing := func(err error) {
		t.Helper()
		require.Equal(t, esdb.ErrorCodeResourceNotFound, code(t, err))
	}
	missing(team.client.UpdatePersistentSubscription(f.ctx, "s", "x", esdb.PersistentStreamSubscriptionOptions{}))
	missing(team.client.DeletePersistentSubscription(f.ctx, "s", "x", esdb.DeletePersistentSubscriptionOptions{}))
	missing(team.client.ReplayParkedMessages(f.ctx, "s", "x", esdb.ReplayParkedMessagesOptions{}))
	_, err := team.client.GetPersistentSubscriptionInfo(f.ctx, "s", "x", esdb.GetPersistentSubscriptionOptions{})
	missing(err)
	_, err = team.client.SubscribeToPersistentSubscription(f.ctx, "s", "x", esdb.SubscribeToPersistentSubscriptionOptions{})
	missing(err)
	_, err = team.client.ListPersistentSubscriptionsForStream(f.ctx, "other", esdb.ListPersistentSubscriptionsOptions{})
	missing(err)
	_, err = team.client.ListPersistentSubscriptionsToAll(f.ctx, esdb.ListPersistentSubscriptionsOptions{})
	missing(err)

	var md metadata.MD
	of := &persistent.DeleteReq_Options_StreamIdentifier{StreamIdentifier: named("s")}
	_, err = wire.Delete(f.ctx, &persistent.DeleteReq{Options: &persistent.DeleteReq_Options{StreamOption: of, GroupName: "x"}}, grpc.Trailer(&md))
	require.Equal(t, codes.NotFound, status.Code(err))
	trailers("persistent-subscription-does-not-exist", md, "x")
	create := func(group string, change func(*persistent.CreateReq_Settings)) (codes.Code, metadata.MD) {
		md = nil
		s := &persistent.CreateReq_Settings{ReadBatchSize: 20, HistoryBufferSize: 500, ConsumerStrategy: "RoundRobin"}
		change(s)
		_, err := wire.Create(f.ctx, &persistent.CreateReq{Options: &persistent.CreateReq_Options{
			StreamOption: &persistent.CreateReq_Options_Stream{Stream: &persistent.CreateReq_StreamOptions{StreamIdentifier: named("s")}}, GroupName: group, Settings: s,
		}}, grpc.Trailer(&md))
		return status.Code(err), md
	}
	got, md := create("g", func(*persistent.CreateReq_Settings) {})
	require.Equal(t, codes.AlreadyExists, got)
	trailers("persistent-subscription-exists", md, "g")
	got, md = create("b", func(s *persistent.CreateReq_Settings) { s.HistoryBufferSize = 20 })
	require.Equal(t, codes.Internal, got)
	trailers("persistent-subscription-failed", md, "b")
	require.NotEmpty(t, md.Get("reason"))
	got, md = create("b", func(s *persistent.CreateReq_Settings) { s.ConsumerStrategy = "Nobody" })
	require.Equal(t, codes.Internal, got)
	trailers("persistent-subscription-failed", md, "b")
	got, _ = create("b", func(s *persistent.CreateReq_Settings) { s.MaxRetryCount = -1 })
	require.Equal(t, codes.InvalidArgument, got)
	got, _ = create("", func(*persistent.CreateReq_Settings) {})
	require.Equal(t, codes.InvalidArgument, got)
	err = team.client.UpdatePersistentSubscription(f.ctx, "s", "g", esdb.PersistentStreamSubscriptionOptions{
		Settings: settings(func(s *esdb.PersistentSubscriptionSettings) { s.ReadBatchSize = 500 }),
	})
	require.Equal(t, codes.Internal, status.Code(unwrapped(t, err)))

	team.join(1)
	_, err = team.tryJoin(1)
	require.Equal(t, codes.FailedPrecondition, status.Code(unwrapped(t, err)))
	call, err := wire.Read(f.ctx)
	require.NoError(t, err)
	require.NoError(t, call.Send(readGroup("s", "g", 1)))
	_, err = call.Recv()
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	trailers("maximum-subscribers-reached", call.Trailer(), "g")

	none, err := f.official().ListAllPersistentSubscriptions(f.ctx, esdb.ListPersistentSubscriptionsOptions{})
	require.NoError(t, err)
	require.Len(t, none, 1)
}

func readGroup(stream, group string, size int32) *persistent.ReadReq {
	return &persistent.ReadReq{Content: &persistent.ReadReq_Options_{Options: &persistent.ReadReq_Options{
		StreamOption: &persistent.ReadReq_Options_StreamIdentifier{StreamIdentifier: named(stream)}, GroupName: group, BufferSize: size,
		UuidOption: &persistent.ReadReq_Options_UUIDOption{Content: &persistent.ReadReq_Options_UUIDOption_String_{String_: &shared.Empty{}}},
	}}}
}

// The subscription id is <stream>::<group>. Event ids may be text.
func TestPersistentWire(t *testing.T) {
	f := serve(t)
	id := uuid.New()
	f.must("s", writer.Any, wireEvent("T", id, "{}"))
	f.team("s", nil)
	call, err := persistent.NewPersistentSubscriptionsClient(f.conn).Read(f.ctx)
	require.NoError(t, err)
	require.NoError(t, call.Send(readGroup("s", "g", 1)))
	m, err := call.Recv()
	require.NoError(t, err)
	require.Equal(t, "s::g", m.GetSubscriptionConfirmation().GetSubscriptionId())
	m, err = call.Recv()
	require.NoError(t, err)
	require.Equal(t, id.String(), m.GetEvent().GetEvent().GetId().GetString_())
	require.IsType(t, &persistent.ReadResp_ReadEvent_RetryCount{}, m.GetEvent().GetCount())
	require.NoError(t, call.Send(readGroup("s", "g", 1)))
	_, err = call.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err), "options may come only once")
}

// When a group is deleted, updated or restarted, its subscribers' calls end with
// Canceled. Deleting a group also soft-deletes its checkpoint and parked streams.
func TestPersistentDropped(t *testing.T) {
	f := serve(t)
	f.must("s", writer.Any, fresh(4)...)
	team := f.team("s", settings(checkpointing))
	w := team.join(1)
	w.ack(w.next(0))
	require.EqualValues(t, 1, w.revision(0))
	require.NoError(t, team.client.UpdatePersistentSubscription(f.ctx, "s", "g", esdb.PersistentStreamSubscriptionOptions{
		StartFrom: esdb.Start{}, Settings: settings(checkpointing, func(s *esdb.PersistentSubscriptionSettings) { s.MaxRetryCount = 3 }),
	}))
	require.Equal(t, codes.Canceled, w.dropped())
	require.EqualValues(t, 3, team.info().Settings.MaxRetryCount)
	w = team.join(1)
	e := w.next(0)
	require.EqualValues(t, 1, e.OriginalEvent().EventNumber, "the group continues after its checkpoint")
	w.nack(esdb.NackActionPark, e)
	require.EqualValues(t, 2, w.revision(0))
	require.NoError(t, team.client.RestartPersistentSubscriptionSubsystem(f.ctx, esdb.RestartPersistentSubscriptionSubsystemOptions{}))
	require.Equal(t, codes.Canceled, w.dropped())
	w = team.join(1)
	require.EqualValues(t, 2, w.revision(0))
	require.NoError(t, team.client.DeletePersistentSubscription(f.ctx, "s", "g", esdb.DeletePersistentSubscriptionOptions{}))
	require.Equal(t, codes.Canceled, w.dropped())
	for _, left := range []string{team.checkpoint(), team.parked()} {
		a := f.read(ofStream(left))
		require.Len(t, a.messages, 1, "%s %v", left, f.events(ofStream(record.MetadataPrefix+left)))
		require.NotNil(t, a.messages[0].GetStreamNotFound(), left)
	}
	config := f.events(ofStream("$persistentSubscriptionConfig"), theEnd, down)[0].GetEvent()
	require.Equal(t, "$PersistentConfig", config.GetMetadata()[wire.MetaType])
	team.create(esdb.Start{}, nil)
	require.EqualValues(t, 0, team.join(1).revision(0), "nothing is left of the deleted group")
}
