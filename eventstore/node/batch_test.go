package node

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// sender is a BatchAppend call.
type sender struct {
	*fixture
	call api.Streams_BatchAppendClient
}

func (f *fixture) batches() *sender {
	f.t.Helper()
	call, err := f.streams.BatchAppend(f.ctx)
	require.NoError(f.t, err)
	return &sender{f, call}
}

func batchOptions(stream string, expected int64) *api.BatchAppendReq_Options {
	o := &api.BatchAppendReq_Options{StreamIdentifier: named(stream)}
	switch expected {
	case writer.Any:
		o.ExpectedStreamPosition = &api.BatchAppendReq_Options_Any{Any: &emptypb.Empty{}}
	case writer.NoStream:
		o.ExpectedStreamPosition = &api.BatchAppendReq_Options_NoStream{NoStream: &emptypb.Empty{}}
	case writer.StreamExists:
		o.ExpectedStreamPosition = &api.BatchAppendReq_Options_StreamExists{StreamExists: &emptypb.Empty{}}
	default:
		o.ExpectedStreamPosition = &api.BatchAppendReq_Options_StreamPosition{StreamPosition: uint64(expected)}
	}
	return o
}

func batchEvents(events []*api.AppendReq_ProposedMessage) []*api.BatchAppendReq_ProposedMessage {
	all := make([]*api.BatchAppendReq_ProposedMessage, len(events))
	for i, e := range events {
		all[i] = &api.BatchAppendReq_ProposedMessage{Id: e.Id, Metadata: e.Metadata, Data: e.Data, CustomMetadata: e.CustomMetadata}
	}
	return all
}

func (s *sender) send(id uuid.UUID, o *api.BatchAppendReq_Options, final bool, events ...*api.AppendReq_ProposedMessage) {
	s.t.Helper()
	require.NoError(s.t, s.call.Send(&api.BatchAppendReq{
		CorrelationId: wire.StructuredUUID(id), Options: o, ProposedMessages: batchEvents(events), IsFinal: final,
	}))
}

func (s *sender) receive() *api.BatchAppendResp {
	s.t.Helper()
	m, err := s.call.Recv()
	require.NoError(s.t, err)
	return m
}

// The method one() sends a single append and returns the response.
func (s *sender) one(o *api.BatchAppendReq_Options, events ...*api.AppendReq_ProposedMessage) *api.BatchAppendResp {
	s.t.Helper()
	id := uuid.New()
	s.send(id, o, true, events...)
	m := s.receive()
	require.True(s.t, proto.Equal(wire.StructuredUUID(id), m.GetCorrelationId()))
	return m
}

// refusedWith requires that m is an error with the given code, and returns the error's
// detail.
func refusedWith[M proto.Message](t *testing.T, m *api.BatchAppendResp, code codes.Code, kind string) M {
	t.Helper()
	require.Equal(t, code, codes.Code(m.GetError().GetCode()), m)
	details := m.GetError().GetDetails()
	require.Len(t, details, 1)
	require.Equal(t, "type.googleapis.com/event_store.client."+kind, details[0].GetTypeUrl())
	detail, err := details[0].UnmarshalNew()
	require.NoError(t, err)
	return detail.(M)
}

// A batch append checks versions and recognizes retries as a plain append does. An error
// ends only the append that caused it, and the call continues.
func TestBatchAppend(t *testing.T) {
	f := serve(t)
	s := f.batches()
	events := fresh(3)

	stored := s.one(batchOptions("s", writer.NoStream), events...)
	require.Equal(t, uint64(2), stored.GetSuccess().GetCurrentRevision())
	require.Equal(t, "s", string(stored.GetStreamIdentifier().GetStreamName()))
	require.NotNil(t, stored.GetNoStream())
	position := stored.GetSuccess().GetPosition()
	require.NotZero(t, position.GetCommitPosition())
	require.Equal(t, position.GetCommitPosition(), position.GetPreparePosition())

	again := s.one(batchOptions("s", writer.NoStream), events...)
	require.True(t, proto.Equal(stored.GetSuccess(), again.GetSuccess()), "a retry gets the answer of the original")
	require.Equal(t, uint64(4), s.one(batchOptions("s", 2), fresh(2)...).GetSuccess().GetCurrentRevision())
	require.Equal(t, uint64(5), s.one(batchOptions("s", writer.Any), fresh(1)...).GetSuccess().GetCurrentRevision())
	require.Equal(t, uint64(6), s.one(batchOptions("s", writer.StreamExists), fresh(1)...).GetSuccess().GetCurrentRevision())
	empty := s.one(batchOptions("nothing", writer.NoStream)).GetSuccess()
	require.NotNil(t, empty.GetNoStream())
	require.NotNil(t, empty.GetNoPosition())

	wrong := refusedWith[*shared.WrongExpectedVersion](t, s.one(batchOptions("s", 3), fresh(1)...), codes.AlreadyExists, "WrongExpectedVersion")
	require.Equal(t, uint64(6), wrong.GetCurrentStreamRevision())
	require.Equal(t, uint64(3), wrong.GetExpectedStreamPosition())
	wrong = refusedWith[*shared.WrongExpectedVersion](t, s.one(batchOptions("other", writer.StreamExists), fresh(1)...), codes.AlreadyExists, "WrongExpectedVersion")
	require.NotNil(t, wrong.GetCurrentNoStream())
	require.NotNil(t, wrong.GetExpectedStreamExists())

	_, err := f.streams.Tombstone(f.ctx, &api.TombstoneReq{Options: &api.TombstoneReq_Options{
		StreamIdentifier: named("gone"), ExpectedStreamRevision: &api.TombstoneReq_Options_Any{Any: &shared.Empty{}},
	}})
	require.NoError(t, err)
	deleted := refusedWith[*shared.StreamDeleted](t, s.one(batchOptions("gone", writer.Any), fresh(1)...), codes.NotFound, "StreamDeleted")
	require.Equal(t, "gone", string(deleted.GetStreamIdentifier().GetStreamName()))
	require.Equal(t, uint64(7), s.one(batchOptions("s", 6), fresh(1)...).GetSuccess().GetCurrentRevision(), "the call continues")
}

func TestBatchAppendRejects(t *testing.T) {
	f := serve(t)
	s := f.batches()
	large := wireEvent("Large", uuid.New(), strings.Repeat("x", wire.MaxAppend/2))
	another := wireEvent("Large", uuid.New(), strings.Repeat("x", wire.MaxAppend/2+1))
	untyped := wireEvent("", uuid.New(), "{}")
	bad := func(m *api.BatchAppendResp, why string) {
		t.Helper()
		require.Contains(t, refusedWith[*shared.BadRequest](t, m, codes.InvalidArgument, "BadRequest").GetMessage(), why)
	}
	late := batchOptions("s", writer.Any)
	late.DeadlineOption = &api.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(-time.Second)}
	past := batchOptions("s", writer.Any)
	past.DeadlineOption = &api.BatchAppendReq_Options_Deadline_21_10_0{Deadline_21_10_0: timestamppb.New(time.Now().Add(-time.Hour))}

	exceeded := refusedWith[*shared.MaximumAppendSizeExceeded](t, s.one(batchOptions("s", writer.Any), large, another), codes.InvalidArgument, "MaximumAppendSizeExceeded")
	require.Equal(t, uint32(wire.MaxAppend), exceeded.GetMaxAppendSize())
	bad(s.one(batchOptions("s", writer.Any), untyped), "type is empty")
	bad(s.one(nil, fresh(1)...), "must begin with its options")
	bad(s.one(batchOptions("", writer.Any), fresh(1)...), "name is empty")
	bad(s.one(&api.BatchAppendReq_Options{StreamIdentifier: named("s")}, fresh(1)...), "expected revision")
	refusedWith[*shared.Timeout](t, s.one(late, fresh(1)...), codes.DeadlineExceeded, "Timeout")
	refusedWith[*shared.Timeout](t, s.one(past, fresh(1)...), codes.DeadlineExceeded, "Timeout")
	require.NoError(t, s.call.Send(&api.BatchAppendReq{Options: batchOptions("s", writer.Any), IsFinal: true}))
	bad(s.receive(), "correlation id")
	require.Equal(t, uint64(0), s.one(batchOptions("s", writer.NoStream), fresh(1)...).GetSuccess().GetCurrentRevision(), "the rejected appends stored nothing")
}

// A client may send an append in several parts, interleaved with parts of other
// appends. The node decides appends in the order in which they are completed. After the
// client closes its sending side, the node still sends every pending response.
func TestBatchAppendInParts(t *testing.T) {
	f := serve(t)
	s := f.batches()
	a, b := uuid.New(), uuid.New()
	s.send(a, batchOptions("s", writer.Any), false, fresh(1)...)
	s.send(b, batchOptions("s", writer.NoStream), false, fresh(2)...)
	s.send(a, nil, false, fresh(1)...)
	s.send(b, nil, true)
	s.send(a, nil, true, fresh(1)...)
	const more = 50
	for range more {
		s.send(uuid.New(), batchOptions("s", writer.Any), true, fresh(1)...)
	}
	short := batchOptions("s", writer.Any)
	short.DeadlineOption = &api.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(time.Second)}
	s.send(uuid.New(), short, false, fresh(1)...) // never completed
	require.NoError(t, s.call.CloseSend())
	revisions := map[uint64]bool{}
	expired := 0
	for {
		m, err := s.call.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if m.GetError() != nil {
			refusedWith[*shared.Timeout](t, m, codes.DeadlineExceeded, "Timeout")
			expired++
			continue
		}
		revisions[m.GetSuccess().GetCurrentRevision()] = true
	}
	require.Len(t, revisions, 2+more)
	require.Equal(t, 1, expired)
	require.True(t, revisions[1] && revisions[4] && revisions[4+more])
}

// If the last part of an append does not arrive before the append's deadline, the append
// gets an error, and its later parts are ignored. The deadline is never longer than
// Options.CommitTimeout, by default 2 s.
func TestBatchAppendIncompleteAtItsDeadline(t *testing.T) {
	for _, test := range []struct{ deadline, commitTimeout time.Duration }{
		{-time.Second, patience}, {time.Millisecond, patience}, {time.Hour, byDefault},
	} {
		f := serve(t, Options{CommitTimeout: test.commitTimeout})
		s := f.batches()
		o := batchOptions("s", writer.Any)
		o.DeadlineOption = &api.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(test.deadline)}
		id := uuid.New()
		s.send(id, o, false, fresh(1)...)
		m := s.receive()
		refusedWith[*shared.Timeout](t, m, codes.DeadlineExceeded, "Timeout")
		require.True(t, proto.Equal(wire.StructuredUUID(id), m.GetCorrelationId()))
		require.Equal(t, "s", string(m.GetStreamIdentifier().GetStreamName()))
		s.send(id, nil, true, fresh(1)...)
		// The call continues, and the late part gets no response. On a slow machine, the
		// next append may take longer than the default.
		next := s.one(batchOptions("other", writer.Any), fresh(1)...)
		for test.commitTimeout == byDefault && next.GetSuccess() == nil {
			refusedWith[*shared.Timeout](t, next, codes.DeadlineExceeded, "Timeout")
			next = s.one(batchOptions("other", writer.Any), fresh(1)...)
		}
		require.NotNil(t, next.GetSuccess())
		require.NotNil(t, f.read(ofStream("s")).messages[0].GetStreamNotFound())
	}
}

// The responses of one call come in the order in which the appends became complete, so
// those of one stream come in the order of its revisions.
func TestBatchAppendAnswersInOrder(t *testing.T) {
	const appends = 500
	f := serve(t)
	s := f.batches()
	go func() {
		for i := range appends {
			stream := []string{"a", "b"}[i%2]
			_ = s.call.Send(&api.BatchAppendReq{
				CorrelationId: wire.StructuredUUID(uuid.New()), Options: batchOptions(stream, writer.Any),
				ProposedMessages: batchEvents(fresh(1)), IsFinal: true,
			})
		}
	}()
	next := map[string]uint64{}
	for range appends {
		m := s.receive()
		stream := string(m.GetStreamIdentifier().GetStreamName())
		require.NotNil(t, m.GetSuccess(), "%v", m.GetError())
		require.Equal(t, next[stream], m.GetSuccess().GetCurrentRevision(), stream)
		next[stream]++
	}
}

// The responses still come in order if some appends miss their deadlines.
func TestBatchAppendAnswersInOrderAfterTimeouts(t *testing.T) {
	const appends = 500
	f := serve(t)
	s := f.batches()
	go func() {
		for i := range appends {
			o := batchOptions("s", writer.Any)
			if i%2 > 0 {
				o.DeadlineOption = &api.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(100 * time.Microsecond)}
			}
			_ = s.call.Send(&api.BatchAppendReq{
				CorrelationId: wire.StructuredUUID(uuid.New()), Options: o, ProposedMessages: batchEvents(fresh(1)), IsFinal: true,
			})
		}
	}()
	last, late := int64(-1), 0
	for range appends {
		m := s.receive()
		if m.GetError() != nil {
			refusedWith[*shared.Timeout](t, m, codes.DeadlineExceeded, "Timeout")
			late++
			continue
		}
		require.Greater(t, int64(m.GetSuccess().GetCurrentRevision()), last)
		last = int64(m.GetSuccess().GetCurrentRevision())
	}
	t.Logf("%d of %d appends missed their deadlines", late, appends)
}

// The memory of the incomplete appends in one call is limited.
func TestBatchAppendIsBounded(t *testing.T) {
	f := serve(t)
	s := f.batches()
	large := fresh(1)
	large[0].CustomMetadata = make([]byte, 9<<20)
	go func() {
		for s.call.Send(&api.BatchAppendReq{
			CorrelationId: wire.StructuredUUID(uuid.New()), Options: batchOptions("s", writer.Any), ProposedMessages: batchEvents(large),
		}) == nil {
		}
	}()
	var err error
	for err == nil {
		_, err = s.call.Recv()
	}
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, uint64(0), f.batches().one(batchOptions("s", writer.NoStream), fresh(1)...).GetSuccess().GetCurrentRevision())
}
