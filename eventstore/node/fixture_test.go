package node

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"hexarena/eventstore/logtest"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// patience limits how long a test waits. No test result depends on its value.
const patience = 3 * time.Minute

// apartVariable is the environment variable that marks a process started by the
// function apart.
const apartVariable = "HEXARENA_NODE_TEST_APART"

// If Pebble fails to open, its scheduler goroutine keeps running, so goleak ignores
// that goroutine. goleak still notices a log that was left open, because an open log
// has other goroutines too.
func TestMain(m *testing.M) {
	if os.Getenv(apartVariable) != "" {
		os.Exit(m.Run())
	}
	logtest.VerifyNoLeaks(m, goleak.IgnoreTopFunction("github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter"))
}

// The function apart() runs the current test in a separate process, because the test may
// leave goroutines stuck. In that process, apart returns false.
func apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(apartVariable) != "" {
		return false
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), apartVariable+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	return true
}

// fixture is a running node and a raw connection to it.
type fixture struct {
	t       *testing.T
	ctx     context.Context
	node    *Node
	addr    string
	l       net.Listener
	conn    *grpc.ClientConn
	streams api.StreamsClient
}

// byDefault, as Options.CommitTimeout, makes serve use the node's own default. Otherwise,
// serve gives appends as much time as a busy machine may need.
const byDefault = time.Duration(-1)

// serve opens a node, by default in memory, and serves it until the test ends.
func serve(t *testing.T, options ...Options) *fixture {
	t.Helper()
	o := Options{}
	if len(options) > 0 {
		o = options[0]
	}
	if o.FS == nil {
		o.FS = vfs.NewMem()
	}
	if o.Dir == "" {
		o.Dir = "log"
	}
	switch o.CommitTimeout {
	case 0:
		o.CommitTimeout = patience
	case byDefault:
		o.CommitTimeout = 0
	}
	o.Logger = slog.New(slog.DiscardHandler)
	n, err := Open(o)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- n.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f := &fixture{t: t, ctx: ctx, node: n, addr: l.Addr().String(), l: l, conn: conn, streams: api.NewStreamsClient(conn)}
	t.Cleanup(func() {
		cancel()
		require.NoError(t, conn.Close())
		require.NoError(t, n.Close())
		if !n.log.Life.HasFailed() {
			require.NoError(t, <-served)
		}
	})
	return f
}

// The method official() returns an official client that is connected to the node.
func (f *fixture) official() *esdb.Client {
	f.t.Helper()
	config, err := esdb.ParseConnectionString("esdb://" + f.addr + "?tls=false")
	require.NoError(f.t, err)
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, client.Close()) })
	return client
}

// wireEvent returns an event as a client sends it.
func wireEvent(kind string, id uuid.UUID, data string) *api.AppendReq_ProposedMessage {
	return &api.AppendReq_ProposedMessage{
		Id:             wire.StructuredUUID(id),
		Metadata:       map[string]string{wire.MetaType: kind, wire.MetaContentType: wire.ContentJSON},
		Data:           []byte(data),
		CustomMetadata: []byte(`{"m":1}`),
	}
}

// The function fresh() returns n events with new ids.
func fresh(n int) []*api.AppendReq_ProposedMessage {
	events := make([]*api.AppendReq_ProposedMessage, n)
	for i := range events {
		events[i] = wireEvent("Happened", uuid.New(), `{"d":1}`)
	}
	return events
}

func named(stream string) *shared.StreamIdentifier {
	return &shared.StreamIdentifier{StreamName: []byte(stream)}
}

// appendOptions returns the options of an append with an expected revision.
func appendOptions(stream string, expected int64) *api.AppendReq_Options {
	o := &api.AppendReq_Options{StreamIdentifier: named(stream)}
	switch expected {
	case writer.Any:
		o.ExpectedStreamRevision = &api.AppendReq_Options_Any{Any: &shared.Empty{}}
	case writer.NoStream:
		o.ExpectedStreamRevision = &api.AppendReq_Options_NoStream{NoStream: &shared.Empty{}}
	case writer.StreamExists:
		o.ExpectedStreamRevision = &api.AppendReq_Options_StreamExists{StreamExists: &shared.Empty{}}
	default:
		o.ExpectedStreamRevision = &api.AppendReq_Options_Revision{Revision: uint64(expected)}
	}
	return o
}

// reply is the result of a call: a message, or an error's status and trailers.
type reply struct {
	response *api.AppendResp
	position uint64 // the position that a delete returned
	code     codes.Code
	message  string
	trailers metadata.MD
}

// call sends all messages in one append call.
func (f *fixture) call(messages ...*api.AppendReq) reply {
	f.t.Helper()
	var r reply
	call, err := f.streams.Append(f.ctx, grpc.Trailer(&r.trailers))
	require.NoError(f.t, err)
	for _, m := range messages {
		if err := call.Send(m); errors.Is(err, io.EOF) {
			break
		}
	}
	r.response, err = call.CloseAndRecv()
	r.code, r.message = status.Code(err), status.Convert(err).Message()
	return r
}

func (f *fixture) append(stream string, expected int64, events ...*api.AppendReq_ProposedMessage) reply {
	f.t.Helper()
	return f.call(appendMessages(appendOptions(stream, expected), events)...)
}

func appendMessages(o *api.AppendReq_Options, events []*api.AppendReq_ProposedMessage) []*api.AppendReq {
	messages := []*api.AppendReq{{Content: &api.AppendReq_Options_{Options: o}}}
	for _, e := range events {
		messages = append(messages, &api.AppendReq{Content: &api.AppendReq_ProposedMessage_{ProposedMessage: e}})
	}
	return messages
}

// The method must() sends an append and requires that it succeeds.
func (f *fixture) must(stream string, expected int64, events ...*api.AppendReq_ProposedMessage) *api.AppendResp_Success {
	f.t.Helper()
	r := f.append(stream, expected, events...)
	require.Equal(f.t, codes.OK, r.code, r.message)
	require.NotNil(f.t, r.response.GetSuccess(), "%v", r.response)
	return r.response.GetSuccess()
}

// The method refused() sends an append and requires that the node rejects its expected
// version.
func (f *fixture) refused(stream string, expected int64, events ...*api.AppendReq_ProposedMessage) *api.AppendResp_WrongExpectedVersion {
	f.t.Helper()
	r := f.append(stream, expected, events...)
	require.Equal(f.t, codes.OK, r.code, r.message)
	require.NotNil(f.t, r.response.GetWrongExpectedVersion(), "%v", r.response)
	return r.response.GetWrongExpectedVersion()
}

func (f *fixture) setMeta(stream, data string) *api.AppendResp_Success {
	f.t.Helper()
	return f.must(record.MetadataPrefix+stream, writer.Any, wireEvent(record.TypeMetadata, uuid.New(), data))
}

func (f *fixture) delete(stream string, expected int64) (r reply) {
	f.t.Helper()
	o := &api.DeleteReq_Options{StreamIdentifier: named(stream)}
	switch expected {
	case writer.Any:
		o.ExpectedStreamRevision = &api.DeleteReq_Options_Any{Any: &shared.Empty{}}
	case writer.NoStream:
		o.ExpectedStreamRevision = &api.DeleteReq_Options_NoStream{NoStream: &shared.Empty{}}
	case writer.StreamExists:
		o.ExpectedStreamRevision = &api.DeleteReq_Options_StreamExists{StreamExists: &shared.Empty{}}
	default:
		o.ExpectedStreamRevision = &api.DeleteReq_Options_Revision{Revision: uint64(expected)}
	}
	answer, err := f.streams.Delete(f.ctx, &api.DeleteReq{Options: o}, grpc.Trailer(&r.trailers))
	r.code, r.message, r.position = status.Code(err), status.Convert(err).Message(), answer.GetPosition().GetCommitPosition()
	return r
}

func (f *fixture) tombstone(stream string, expected int64) (r reply) {
	f.t.Helper()
	o := &api.TombstoneReq_Options{StreamIdentifier: named(stream)}
	switch expected {
	case writer.Any:
		o.ExpectedStreamRevision = &api.TombstoneReq_Options_Any{Any: &shared.Empty{}}
	case writer.NoStream:
		o.ExpectedStreamRevision = &api.TombstoneReq_Options_NoStream{NoStream: &shared.Empty{}}
	case writer.StreamExists:
		o.ExpectedStreamRevision = &api.TombstoneReq_Options_StreamExists{StreamExists: &shared.Empty{}}
	default:
		o.ExpectedStreamRevision = &api.TombstoneReq_Options_Revision{Revision: uint64(expected)}
	}
	answer, err := f.streams.Tombstone(f.ctx, &api.TombstoneReq{Options: o}, grpc.Trailer(&r.trailers))
	r.code, r.message, r.position = status.Code(err), status.Convert(err).Message(), answer.GetPosition().GetCommitPosition()
	return r
}

// The type asking is a function that changes the options of a read.
type asking func(*api.ReadReq_Options)

func readOptions(asked ...asking) *api.ReadReq {
	o := &api.ReadReq_Options{
		CountOption:  &api.ReadReq_Options_Count{Count: 1 << 40},
		FilterOption: &api.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}},
		UuidOption:   &api.ReadReq_Options_UUIDOption{Content: &api.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}}},
	}
	for _, change := range asked {
		change(o)
	}
	return &api.ReadReq{Options: o}
}

func ofStream(stream string) asking {
	return func(o *api.ReadReq_Options) {
		o.StreamOption = &api.ReadReq_Options_Stream{Stream: &api.ReadReq_Options_StreamOptions{
			StreamIdentifier: named(stream), RevisionOption: &api.ReadReq_Options_StreamOptions_Start{Start: &shared.Empty{}},
		}}
	}
}

func ofAll(o *api.ReadReq_Options) {
	o.StreamOption = &api.ReadReq_Options_All{All: &api.ReadReq_Options_AllOptions{
		AllOption: &api.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}},
	}}
}

func fromRevision(revision uint64) asking {
	return func(o *api.ReadReq_Options) {
		o.GetStream().RevisionOption = &api.ReadReq_Options_StreamOptions_Revision{Revision: revision}
	}
}

func atPosition(commit, prepare uint64) asking {
	return func(o *api.ReadReq_Options) {
		o.GetAll().AllOption = &api.ReadReq_Options_AllOptions_Position{Position: &api.ReadReq_Options_Position{CommitPosition: commit, PreparePosition: prepare}}
	}
}

func theEnd(o *api.ReadReq_Options) {
	if s := o.GetStream(); s != nil {
		s.RevisionOption = &api.ReadReq_Options_StreamOptions_End{End: &shared.Empty{}}
	} else {
		o.GetAll().AllOption = &api.ReadReq_Options_AllOptions_End{End: &shared.Empty{}}
	}
}

func down(o *api.ReadReq_Options) { o.ReadDirection = api.ReadReq_Options_Backwards }

func counting(n uint64) asking {
	return func(o *api.ReadReq_Options) { o.CountOption = &api.ReadReq_Options_Count{Count: n} }
}

func compatible(o *api.ReadReq_Options) {
	o.ControlOption = &api.ReadReq_Options_ControlOption{Compatibility: 1}
}

func resolving(o *api.ReadReq_Options) { o.ResolveLinks = true }

func subscribing(o *api.ReadReq_Options) {
	o.CountOption = &api.ReadReq_Options_Subscription{Subscription: &api.ReadReq_Options_SubscriptionOptions{}}
}

// byStream filters by stream prefixes. The parameter interval is the number of events
// between two checkpoints.
func byStream(interval uint32, prefixes ...string) asking {
	return filtering(&api.ReadReq_Options_FilterOptions{
		Filter:                       &api.ReadReq_Options_FilterOptions_StreamIdentifier{StreamIdentifier: &api.ReadReq_Options_FilterOptions_Expression{Prefix: prefixes}},
		Window:                       &api.ReadReq_Options_FilterOptions_Max{Max: 1},
		CheckpointIntervalMultiplier: interval,
	})
}

func filtering(f *api.ReadReq_Options_FilterOptions) asking {
	return func(o *api.ReadReq_Options) { o.FilterOption = &api.ReadReq_Options_Filter{Filter: f} }
}

// The type answered is the response to a read.
type answered struct {
	messages []*api.ReadResp
	code     codes.Code
	trailers metadata.MD
}

func (f *fixture) read(asked ...asking) (a answered) {
	f.t.Helper()
	call, err := f.streams.Read(f.ctx, readOptions(asked...), grpc.Trailer(&a.trailers))
	require.NoError(f.t, err)
	for {
		m, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return a
		}
		if err != nil {
			a.code = status.Code(err)
			return a
		}
		a.messages = append(a.messages, m)
	}
}

// The method events requires that a read succeeds, and returns its events.
func (f *fixture) events(asked ...asking) []*api.ReadResp_ReadEvent {
	f.t.Helper()
	a := f.read(asked...)
	require.Equal(f.t, codes.OK, a.code)
	events := []*api.ReadResp_ReadEvent{}
	for _, m := range a.messages {
		if e := m.GetEvent(); e != nil {
			events = append(events, e)
		}
	}
	return events
}

// The method revisions requires that a stream read succeeds, and returns the events'
// revisions.
func (f *fixture) revisions(asked ...asking) []uint64 {
	f.t.Helper()
	revisions := []uint64{}
	for _, e := range f.events(asked...) {
		revisions = append(revisions, e.GetEvent().GetStreamRevision())
	}
	return revisions
}

// subscription is an open subscription.
type subscription struct {
	t        *testing.T
	call     api.Streams_ReadClient
	trailers metadata.MD
}

func (f *fixture) subscribe(asked ...asking) *subscription {
	f.t.Helper()
	s := &subscription{t: f.t}
	ctx, cancel := context.WithCancel(f.ctx)
	f.t.Cleanup(cancel)
	call, err := f.streams.Read(ctx, readOptions(append(asked, subscribing)...), grpc.Trailer(&s.trailers))
	require.NoError(f.t, err)
	s.call = call
	return s
}

// next returns the next message.
func (s *subscription) next() *api.ReadResp {
	s.t.Helper()
	m, err := s.call.Recv()
	require.NoError(s.t, err)
	return m
}

func (s *subscription) confirmed() *subscription {
	s.t.Helper()
	require.NotEmpty(s.t, s.next().GetConfirmation().GetSubscriptionId())
	return s
}

func (s *subscription) caughtUp() *subscription {
	s.t.Helper()
	m := s.next()
	require.NotNil(s.t, m.GetCaughtUp(), "%v", m)
	return s
}

func (s *subscription) checkpoint() uint64 {
	s.t.Helper()
	m := s.next()
	require.NotNil(s.t, m.GetCheckpoint(), "%v", m)
	require.Equal(s.t, m.GetCheckpoint().GetCommitPosition(), m.GetCheckpoint().GetPreparePosition())
	return m.GetCheckpoint().GetCommitPosition()
}

func (s *subscription) event() *api.ReadResp_ReadEvent_RecordedEvent {
	s.t.Helper()
	m := s.next()
	require.NotNil(s.t, m.GetEvent().GetEvent(), "%v", m)
	return m.GetEvent().GetEvent()
}

// The method dropped() requires that the subscription ends without another message, and
// returns its status.
func (s *subscription) dropped() codes.Code {
	s.t.Helper()
	_, err := s.call.Recv()
	require.Error(s.t, err)
	return status.Code(err)
}
