package node

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

func TestAppendExpectedRevisions(t *testing.T) {
	tests := []struct {
		name     string
		given    int // events in the stream
		meta     string
		expected int64
		fits     bool
	}{
		{"any, no stream", 0, "", writer.Any, true},
		{"any, a stream", 2, "", writer.Any, true},
		{"no_stream, no stream", 0, "", writer.NoStream, true},
		{"no_stream, a stream", 1, "", writer.NoStream, false},
		{"stream_exists, no stream", 0, "", writer.StreamExists, false},
		{"stream_exists, a stream", 1, "", writer.StreamExists, true},
		{"stream_exists, only metadata", 0, `{"$maxCount":3}`, writer.StreamExists, true},
		{"exact", 2, "", 1, true},
		{"exact, behind", 3, "", 1, false},
		{"exact, ahead", 2, "", 2, false},
		{"exact, no stream", 0, "", 0, false},
		{"exact, the highest revision", 1, "", math.MaxInt64, false},
	}
	f := serve(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := f.in(t)
			stream := "s-" + uuid.NewString()
			if test.given > 0 {
				f.must(stream, writer.NoStream, fresh(test.given)...)
			}
			if test.meta != "" {
				f.setMeta(stream, test.meta)
			}
			if !test.fits {
				f.refused(stream, test.expected, fresh(1)...)
				require.Len(t, f.events(ofStream(stream)), test.given)
				return
			}
			success := f.must(stream, test.expected, fresh(2)...)
			require.EqualValues(t, test.given+1, success.GetCurrentRevision())
			require.NotZero(t, success.GetPosition().GetCommitPosition())
			require.Equal(t, success.GetPosition().GetCommitPosition(), success.GetPosition().GetPreparePosition())
			require.Len(t, f.events(ofStream(stream)), test.given+2)
		})
	}
}

// The method in() returns a fixture that reports failures to the subtest t.
func (f *fixture) in(t *testing.T) *fixture {
	g := *f
	g.t = t
	return &g
}

// The node reports a wrong expected version in a response message that contains both
// the current fields and those of version 20.6.0.
func TestWrongVersionNamesBothGenerationsOfFields(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(3)...)
	empty := &shared.Empty{}
	tests := []struct {
		name     string
		stream   string
		expected int64
		want     *api.AppendResp_WrongExpectedVersion
	}{
		{"no_stream", "s", writer.NoStream, &api.AppendResp_WrongExpectedVersion{
			CurrentRevisionOption_20_6_0:  &api.AppendResp_WrongExpectedVersion_CurrentRevision_20_6_0{CurrentRevision_20_6_0: 2},
			ExpectedRevisionOption_20_6_0: &api.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{ExpectedRevision_20_6_0: math.MaxUint64},
			CurrentRevisionOption:         &api.AppendResp_WrongExpectedVersion_CurrentRevision{CurrentRevision: 2},
			ExpectedRevisionOption:        &api.AppendResp_WrongExpectedVersion_ExpectedNoStream{ExpectedNoStream: empty},
		}},
		{"stream_exists", "none", writer.StreamExists, &api.AppendResp_WrongExpectedVersion{
			CurrentRevisionOption_20_6_0:  &api.AppendResp_WrongExpectedVersion_NoStream_20_6_0{NoStream_20_6_0: empty},
			ExpectedRevisionOption_20_6_0: &api.AppendResp_WrongExpectedVersion_StreamExists_20_6_0{StreamExists_20_6_0: empty},
			CurrentRevisionOption:         &api.AppendResp_WrongExpectedVersion_CurrentNoStream{CurrentNoStream: empty},
			ExpectedRevisionOption:        &api.AppendResp_WrongExpectedVersion_ExpectedStreamExists{ExpectedStreamExists: empty},
		}},
		{"exact", "s", 7, &api.AppendResp_WrongExpectedVersion{
			CurrentRevisionOption_20_6_0:  &api.AppendResp_WrongExpectedVersion_CurrentRevision_20_6_0{CurrentRevision_20_6_0: 2},
			ExpectedRevisionOption_20_6_0: &api.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{ExpectedRevision_20_6_0: 7},
			CurrentRevisionOption:         &api.AppendResp_WrongExpectedVersion_CurrentRevision{CurrentRevision: 2},
			ExpectedRevisionOption:        &api.AppendResp_WrongExpectedVersion_ExpectedRevision{ExpectedRevision: 7},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := f.in(t).refused(test.stream, test.expected, fresh(1)...)
			require.True(t, proto.Equal(test.want, got), "%v", got)
		})
	}
	t.Run("any", func(t *testing.T) { // the stream already has one of the ids
		f, events := f.in(t), fresh(2)
		f.must("any", writer.Any, events[0])
		got := f.refused("any", writer.Any, events...)
		require.NotNil(t, got.GetExpectedAny())
		require.NotNil(t, got.GetAny_20_6_0())
	})
}

// The highest revision of all means no_stream in every call. A plain append gets it back
// in the response to a wrong version. All other calls get no_stream.
func TestHighestRevisionMeansNoStream(t *testing.T) {
	const highest = math.MaxUint64
	f := serve(t)
	options := func(stream string) *api.AppendReq_Options {
		return &api.AppendReq_Options{StreamIdentifier: named(stream), ExpectedStreamRevision: &api.AppendReq_Options_Revision{Revision: highest}}
	}
	events := fresh(2)
	stored := f.call(appendMessages(options("s"), events)...).response.GetSuccess()
	require.EqualValues(t, 1, stored.GetCurrentRevision())
	require.True(t, proto.Equal(stored, f.call(appendMessages(options("s"), events)...).response.GetSuccess()), "a retry")
	wrong := f.call(appendMessages(options("s"), fresh(1))...).response.GetWrongExpectedVersion()
	require.True(t, proto.Equal(&api.AppendResp_WrongExpectedVersion{
		CurrentRevisionOption_20_6_0:  &api.AppendResp_WrongExpectedVersion_CurrentRevision_20_6_0{CurrentRevision_20_6_0: 1},
		ExpectedRevisionOption_20_6_0: &api.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{ExpectedRevision_20_6_0: highest},
		CurrentRevisionOption:         &api.AppendResp_WrongExpectedVersion_CurrentRevision{CurrentRevision: 1},
		ExpectedRevisionOption:        &api.AppendResp_WrongExpectedVersion_ExpectedRevision{ExpectedRevision: highest},
	}, wrong), "%v", wrong)

	s := f.batches()
	batch := func(stream string) *api.BatchAppendReq_Options {
		return &api.BatchAppendReq_Options{StreamIdentifier: named(stream), ExpectedStreamPosition: &api.BatchAppendReq_Options_StreamPosition{StreamPosition: highest}}
	}
	first := s.one(batch("b"), fresh(3)...)
	require.EqualValues(t, 2, first.GetSuccess().GetCurrentRevision())
	require.Equal(t, uint64(highest), first.GetStreamPosition())
	detail := refusedWith[*shared.WrongExpectedVersion](t, s.one(batch("b"), fresh(1)...), codes.AlreadyExists, "WrongExpectedVersion")
	require.EqualValues(t, 2, detail.GetCurrentStreamRevision())
	require.NotNil(t, detail.GetExpectedNoStream())

	remove := func(stream string) (r reply) {
		_, err := f.streams.Delete(f.ctx, &api.DeleteReq{Options: &api.DeleteReq_Options{
			StreamIdentifier: named(stream), ExpectedStreamRevision: &api.DeleteReq_Options_Revision{Revision: highest},
		}}, grpc.Trailer(&r.trailers))
		r.code = status.Code(err)
		return r
	}
	requireWrongVersion(t, remove("s"), "s", "-1", "1")
	f.delete("s", writer.Any)
	require.Equal(t, codes.OK, remove("s").code, "a soft-deleted stream")

	bury := func(stream string) (r reply) {
		_, err := f.streams.Tombstone(f.ctx, &api.TombstoneReq{Options: &api.TombstoneReq_Options{
			StreamIdentifier: named(stream), ExpectedStreamRevision: &api.TombstoneReq_Options_Revision{Revision: highest},
		}}, grpc.Trailer(&r.trailers))
		r.code = status.Code(err)
		return r
	}
	requireWrongVersion(t, bury("b"), "b", "-1", "2")
	require.Equal(t, codes.OK, bury("none").code)
}

func TestAppendIsAtomic(t *testing.T) {
	f := serve(t)
	bad := fresh(3)
	bad[2].Id = nil
	require.Equal(t, codes.InvalidArgument, f.append("s", writer.Any, bad...).code)
	require.NotNil(t, f.read(ofStream("s")).messages[0].GetStreamNotFound())
}

// An empty append checks the revision and returns the current one.
func TestEmptyAppend(t *testing.T) {
	f := serve(t)
	success := f.must("none", writer.Any)
	require.NotNil(t, success.GetNoStream())
	require.NotNil(t, success.GetNoPosition())
	f.must("none", writer.NoStream)
	f.refused("none", 0)

	f.must("s", writer.NoStream, fresh(3)...)
	require.EqualValues(t, 2, f.must("s", 2).GetCurrentRevision())
	require.EqualValues(t, 2, f.must("s", writer.StreamExists).GetCurrentRevision())
	f.refused("s", 1)
	f.refused("s", writer.NoStream)

	require.Equal(t, codes.OK, f.delete("s", writer.Any).code)
	f.refused("s", 1)
	require.NotNil(t, f.read(ofStream("s")).messages[0].GetStreamNotFound(), "a wrong expected version undeletes nothing")
	f.must("s", 2)
	require.Empty(t, f.events(ofStream("s")), "its old events stay hidden after undeletion")
	require.Nil(t, f.read(ofStream("s")).messages)
}

// An append may have up to 1 MiB of data. Metadata and types do not count. Only the size
// of a message and the node's memory limit them.
func TestAppendSize(t *testing.T) {
	f := serve(t)
	sized := func(data, meta int, kind string) *api.AppendReq_ProposedMessage {
		e := wireEvent(kind, uuid.New(), strings.Repeat("d", data))
		e.CustomMetadata = []byte(strings.Repeat("m", meta))
		return e
	}
	refused := func(t *testing.T, r reply) {
		require.Equal(t, codes.InvalidArgument, r.code)
		require.Equal(t, []string{"maximum-append-size-exceeded"}, r.trailers.Get("exception"))
		require.Equal(t, []string{"1048576"}, r.trailers.Get("maximum-append-size"))
	}
	t.Run("1 MiB is accepted", func(t *testing.T) {
		f.in(t).must("s", writer.Any, sized(wire.MaxAppend, 0, "Type"))
	})
	t.Run("one more byte of data is rejected", func(t *testing.T) {
		refused(t, f.in(t).append("s", writer.Any, sized(wire.MaxAppend+1, 0, "Type")))
	})
	t.Run("metadata and types do not count", func(t *testing.T) {
		f.in(t).must("s", writer.Any, sized(wire.MaxAppend, 9<<20, strings.Repeat("é𝄞", 1000)), sized(0, 9<<20, "T"))
	})
	t.Run("all events of a call count", func(t *testing.T) {
		const half = wire.MaxAppend / 2
		f.in(t).must("t", writer.Any, sized(half, 0, "Type"), sized(half, 0, "Type"))
		refused(t, f.in(t).append("t", writer.Any, sized(half, 0, "Type"), sized(half+1, 0, "Type")))
	})
	t.Run("a client that sends much more gets the error", func(t *testing.T) {
		refused(t, f.in(t).append("s", writer.Any, sized(wire.MaxAppend+1, 0, "T"), sized(8<<20, 0, "T"), sized(8<<20, 0, "T")))
	})
	t.Run("a message over the receive limit", func(t *testing.T) {
		require.Equal(t, codes.ResourceExhausted, f.in(t).append("s", writer.Any, sized(receiveStreams, 0, "T")).code)
	})
	t.Run("more metadata than an append may use in memory", func(t *testing.T) {
		var events []*api.AppendReq_ProposedMessage
		for size := 0; size < writer.MaxMemory; size += 15 << 20 {
			events = append(events, sized(0, 15<<20, "T"))
		}
		r := f.in(t).append("much", writer.Any, events...)
		require.Equal(t, codes.ResourceExhausted, r.code)
		require.Contains(t, r.message, "larger than max")
	})
	t.Run("batches", func(t *testing.T) {
		s := f.in(t).batches()
		m := s.one(batchOptions("b", writer.Any), sized(wire.MaxAppend, 1<<20, "Type"), sized(0, 1<<20, "T"))
		require.NotNil(t, m.GetSuccess(), "%v", m.GetError())
		exceeded := refusedWith[*shared.MaximumAppendSizeExceeded](t, s.one(batchOptions("b", writer.Any), sized(wire.MaxAppend+1, 0, "Type")), codes.InvalidArgument, "MaximumAppendSizeExceeded")
		require.EqualValues(t, wire.MaxAppend, exceeded.GetMaxAppendSize())
	})
}

// The option MaxAppendSize changes the limit of Append and BatchAppend.
func TestMaxAppendSize(t *testing.T) {
	sized := func(data int) *api.AppendReq_ProposedMessage {
		return wireEvent("T", uuid.New(), strings.Repeat("d", data))
	}
	for _, limit := range []int{1, 100, 2 << 20} {
		f := serve(t, Options{MaxAppendSize: limit})
		f.must("s", writer.Any, sized(limit))
		r := f.append("s", writer.Any, sized(limit), sized(1))
		require.Equal(t, codes.InvalidArgument, r.code)
		require.Equal(t, []string{strconv.Itoa(limit)}, r.trailers.Get("maximum-append-size"))
		s := f.batches()
		require.NotNil(t, s.one(batchOptions("s", writer.Any), sized(limit)).GetSuccess())
		exceeded := refusedWith[*shared.MaximumAppendSizeExceeded](t, s.one(batchOptions("s", writer.Any), sized(limit+1)), codes.InvalidArgument, "MaximumAppendSizeExceeded")
		require.EqualValues(t, limit, exceeded.GetMaxAppendSize())
	}
}

// An event needs a type, a content type and an id.
func TestAppendRejectsBadEvents(t *testing.T) {
	f := serve(t)
	without := func(key string) *api.AppendReq_ProposedMessage {
		e := fresh(1)[0]
		delete(e.Metadata, key)
		return e
	}
	withID := func(id *shared.UUID) *api.AppendReq_ProposedMessage {
		e := fresh(1)[0]
		e.Id = id
		return e
	}
	text := func(id string) *shared.UUID { return &shared.UUID{Value: &shared.UUID_String_{String_: id}} }
	tests := []struct {
		name      string
		event     *api.AppendReq_ProposedMessage
		exception string
	}{
		{"no type", without(wire.MetaType), "missing-required-metadata-property"},
		{"no content-type", without(wire.MetaContentType), "missing-required-metadata-property"},
		{"an empty type", wireEvent("", uuid.New(), ""), ""},
		{"no id", withID(nil), ""},
		{"an empty id", withID(&shared.UUID{}), ""},
		{"an empty text as id", withID(text("")), ""},
		{"the nil id", withID(wire.StructuredUUID(uuid.Nil)), ""},
		{"the nil id as text", withID(text(uuid.Nil.String())), ""},
		{"an id that is not a UUID", withID(text("not-a-uuid")), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := f.in(t).append("s", writer.Any, test.event)
			require.Equal(t, codes.InvalidArgument, r.code)
			if test.exception == "" {
				require.Empty(t, r.trailers.Get("exception"))
				return
			}
			require.Equal(t, []string{test.exception}, r.trailers.Get("exception"))
			require.Equal(t, []string{"type,content-type"}, r.trailers.Get("required-metadata-properties"))
		})
	}
}

func TestAppendRejectsBadCalls(t *testing.T) {
	f := serve(t)
	event := &api.AppendReq{Content: &api.AppendReq_ProposedMessage_{ProposedMessage: fresh(1)[0]}}
	options := func(stream string, expected int64) *api.AppendReq {
		return &api.AppendReq{Content: &api.AppendReq_Options_{Options: appendOptions(stream, expected)}}
	}
	tests := map[string][]*api.AppendReq{
		"nothing at all":            {},
		"events without options":    {event},
		"options twice":             {options("s", writer.Any), options("s", writer.Any)},
		"an empty message":          {options("s", writer.Any), {}},
		"no stream":                 {{Content: &api.AppendReq_Options_{Options: &api.AppendReq_Options{ExpectedStreamRevision: &api.AppendReq_Options_Any{}}}}},
		"an empty name":             {options("", writer.Any), event},
		"metadata without a stream": {options("$$", writer.Any), event},
		"$all":                      {options("$all", writer.Any), event},
		"a name that is not UTF-8":  {options("\xff", writer.Any), event},
		"a name that is too long":   {options(strings.Repeat("x", record.MaxStreamName+1), writer.Any), event},
		"no expected revision":      {{Content: &api.AppendReq_Options_{Options: &api.AppendReq_Options{StreamIdentifier: named("s")}}}, event},
		"an impossible revision":    {{Content: &api.AppendReq_Options_{Options: &api.AppendReq_Options{StreamIdentifier: named("s"), ExpectedStreamRevision: &api.AppendReq_Options_Revision{Revision: 1 << 63}}}}, event},
	}
	for name, messages := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, codes.InvalidArgument, f.in(t).call(messages...).code)
		})
	}
	t.Run("the longest name", func(t *testing.T) {
		stream := strings.Repeat("x", record.MaxStreamName)
		f.in(t).must(stream, writer.Any, fresh(1)...)
		require.Len(t, f.in(t).events(ofStream(stream)), 1)
	})
}
