package node

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// An event's commit and prepare positions are equal. Positions are positive and
// increasing, even in stream reads. Metadata and ids are the same as in the append.
func TestReadReturnsTheAppendedEvents(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 890_123_400, time.UTC)
	f := serve(t, Options{Now: func() time.Time { return at }})
	id := uuid.MustParse("F0E1D2C3-B4A5-9687-7869-5A4B3C2D1E0F")
	text := &api.AppendReq_ProposedMessage{
		Id:       &shared.UUID{Value: &shared.UUID_String_{String_: "F0E1D2C3-B4A5-9687-7869-5A4B3C2D1E0F"}},
		Metadata: map[string]string{wire.MetaType: "Typ", wire.MetaContentType: "text/plain", "more": "x", "created": "1"},
		Data:     []byte{0, 255, 1}, CustomMetadata: []byte("meta"),
	}
	f.must("s", writer.Any, fresh(1)...)
	success := f.must("s", writer.Any, text, wireEvent("J", uuid.New(), ""))

	for name, read := range map[string][]asking{"stream": {ofStream("s"), fromRevision(1), counting(1)}, "$all": {ofAll, atPosition(f.positions()[1], 7), counting(1)}} {
		t.Run(name, func(t *testing.T) {
			got := f.in(t).events(read...)[0]
			e := got.GetEvent()
			require.Nil(t, got.GetLink())
			require.Equal(t, wire.StructuredUUID(id).String(), e.GetId().String())
			require.Equal(t, "s", string(e.GetStreamIdentifier().GetStreamName()))
			require.EqualValues(t, 1, e.GetStreamRevision())
			require.Equal(t, map[string]string{
				wire.MetaType: "Typ", wire.MetaContentType: "application/octet-stream", "created": strconv.FormatInt(at.UnixNano()/100, 10),
			}, e.GetMetadata())
			require.Equal(t, []byte{0, 255, 1}, e.GetData())
			require.Equal(t, []byte("meta"), e.GetCustomMetadata())
			require.NotZero(t, e.GetCommitPosition())
			require.Equal(t, e.GetCommitPosition(), e.GetPreparePosition())
			require.Equal(t, e.GetCommitPosition(), got.GetCommitPosition())
		})
	}
	t.Run("ids as text, in lower case", func(t *testing.T) {
		asText := func(o *api.ReadReq_Options) {
			o.UuidOption.Content = &api.ReadReq_Options_UUIDOption_String_{String_: &shared.Empty{}}
		}
		require.Equal(t, "f0e1d2c3-b4a5-9687-7869-5a4b3c2d1e0f", f.in(t).events(ofStream("s"), asText)[1].GetEvent().GetId().GetString_())
	})
	t.Run("the answer's position is the last event's", func(t *testing.T) {
		events := f.in(t).events(ofStream("s"))
		require.Equal(t, events[2].GetCommitPosition(), success.GetPosition().GetCommitPosition())
		require.Equal(t, wire.ContentJSON, events[2].GetEvent().GetMetadata()[wire.MetaContentType])
	})
	t.Run("positions increase", func(t *testing.T) {
		last := uint64(0)
		for _, p := range f.in(t).positions() {
			require.Greater(t, p, last)
			last = p
		}
	})
}

// The method positions returns the positions of all events.
func (f *fixture) positions(asked ...asking) []uint64 {
	f.t.Helper()
	positions := []uint64{}
	for _, e := range f.events(append([]asking{ofAll}, asked...)...) {
		positions = append(positions, e.GetCommitPosition())
	}
	return positions
}

// Stream reads are inclusive in both directions. If the start is beyond the end, a
// backward read starts at the last event, and a forward read returns nothing.
func TestStreamReads(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(5)...)
	f.must("s2", writer.NoStream, fresh(2)...) // the stream next to "s" in the index
	tests := []struct {
		name string
		read []asking
		want []uint64
	}{
		{"all of it", nil, []uint64{0, 1, 2, 3, 4}},
		{"from a revision, inclusive", []asking{fromRevision(3)}, []uint64{3, 4}},
		{"with a count", []asking{fromRevision(1), counting(2)}, []uint64{1, 2}},
		{"forwards from the end", []asking{theEnd}, []uint64{}},
		{"forwards beyond the end", []asking{fromRevision(5)}, []uint64{}},
		{"forwards from far beyond the end", []asking{fromRevision(math.MaxUint64 - 1)}, []uint64{}},
		{"backwards from the end", []asking{down, theEnd}, []uint64{4, 3, 2, 1, 0}},
		{"backwards from a revision, inclusive", []asking{down, fromRevision(2)}, []uint64{2, 1, 0}},
		{"backwards from beyond the end", []asking{down, fromRevision(99), counting(2)}, []uint64{4, 3}},
		{"backwards from the highest revision", []asking{down, fromRevision(math.MaxUint64), counting(1)}, []uint64{4}},
		{"backwards from the start", []asking{down}, []uint64{0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, f.in(t).revisions(append([]asking{ofStream("s")}, test.read...)...))
		})
	}
	t.Run("no stream", func(t *testing.T) {
		for _, way := range []asking{theEnd, down, counting(1), compatible} {
			messages := f.in(t).read(ofStream("none"), way).messages
			require.Len(t, messages, 1)
			require.Equal(t, "none", string(messages[0].GetStreamNotFound().GetStreamIdentifier().GetStreamName()))
		}
	})
}

// A forward read of $all includes the event at its start position, and a backward read
// excludes it. A start position inside the log must be the position of a record.
func TestReadsOfAll(t *testing.T) {
	f := serve(t)
	for i := range 3 {
		f.must(fmt.Sprintf("s-%d", i), writer.NoStream, fresh(2)...)
	}
	p := f.positions()
	require.Len(t, p, 6)
	reversed := []uint64{p[5], p[4], p[3], p[2], p[1], p[0]}
	tests := []struct {
		name string
		read []asking
		want []uint64
	}{
		{"from the start", nil, p},
		{"from a position, inclusive", []asking{atPosition(p[2], p[2])}, p[2:]},
		{"from only a commit position", []asking{atPosition(p[2], 0)}, p[2:]},
		{"from 0", []asking{atPosition(0, 0)}, p},
		{"with a count", []asking{atPosition(p[1], 0), counting(2)}, p[1:3]},
		{"from the end", []asking{theEnd}, []uint64{}},
		{"from beyond the end", []asking{atPosition(p[5]+1, 0)}, []uint64{}},
		{"backwards from the end", []asking{down, theEnd}, reversed},
		{"backwards from MaxUint64", []asking{down, atPosition(math.MaxUint64, math.MaxUint64)}, reversed},
		{"backwards from a position, exclusive", []asking{down, atPosition(p[2], p[2])}, reversed[4:]},
		{"backwards, with a count", []asking{down, theEnd, counting(2)}, reversed[:2]},
		{"backwards from the start", []asking{down}, []uint64{}},
		{"filtered", []asking{byStream(1, "s-1", "s-2")}, p[2:]},
		{"filtered, with a count", []asking{byStream(1, "s-2"), counting(1)}, p[4:5]},
		{"filtered, backwards", []asking{down, theEnd, byStream(1, "s-0")}, reversed[4:]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := []uint64{}
			for _, e := range f.in(t).events(append([]asking{ofAll}, test.read...)...) {
				got = append(got, e.GetCommitPosition())
			}
			require.Equal(t, test.want, got)
		})
	}
	for _, way := range [][]asking{{}, {down}} {
		a := f.read(append([]asking{ofAll, atPosition(p[1]+1, p[1]+1)}, way...)...)
		require.Equal(t, codes.InvalidArgument, a.code, "no record begins there")
	}
	t.Run("an empty log", func(t *testing.T) {
		f := serve(t)
		for _, way := range [][]asking{{}, {theEnd}, {down}, {down, theEnd}, {compatible}} {
			a := f.read(append([]asking{ofAll}, way...)...)
			require.Equal(t, codes.OK, a.code)
			require.Empty(t, a.messages)
		}
	})
}

func TestReadsRejectImpossibleOptions(t *testing.T) {
	f := serve(t)
	noFilter := func(o *api.ReadReq_Options) { o.FilterOption = nil }
	noIDs := func(o *api.ReadReq_Options) { o.UuidOption = nil }
	emptyIDs := func(o *api.ReadReq_Options) { o.UuidOption = &api.ReadReq_Options_UUIDOption{} }
	noCount := func(o *api.ReadReq_Options) { o.CountOption = nil }
	noRevision := func(o *api.ReadReq_Options) { o.GetStream().RevisionOption = nil }
	noPosition := func(o *api.ReadReq_Options) { o.GetAll().AllOption = nil }
	sideways := func(o *api.ReadReq_Options) { o.ReadDirection = 7 }
	expression := func(regex string, prefixes ...string) *api.ReadReq_Options_FilterOptions_StreamIdentifier {
		return &api.ReadReq_Options_FilterOptions_StreamIdentifier{StreamIdentifier: &api.ReadReq_Options_FilterOptions_Expression{Regex: regex, Prefix: prefixes}}
	}
	window := &api.ReadReq_Options_FilterOptions_Max{Max: 32}
	tests := map[string][]asking{
		"neither stream nor all":              {},
		"no name":                             {ofStream("")},
		"no revision":                         {ofStream("s"), noRevision},
		"no position":                         {ofAll, noPosition},
		"no count":                            {ofAll, noCount},
		"count 0":                             {ofAll, counting(0)},
		"count 0 of a stream":                 {ofStream("s"), counting(0)},
		"no uuid option":                      {ofAll, noIDs},
		"an empty uuid option":                {ofAll, emptyIDs},
		"no filter option":                    {ofAll, noFilter},
		"a filter on a stream":                {ofStream("s"), byStream(1, "s")},
		"an unknown direction":                {ofAll, sideways},
		"a subscription backwards":            {ofAll, down, subscribing},
		"a stream subscription backwards":     {ofStream("s"), down, subscribing},
		"prepare beyond commit":               {ofAll, atPosition(1, 2), subscribing},
		"a filter by neither stream nor type": {ofAll, filtering(&api.ReadReq_Options_FilterOptions{Window: window, CheckpointIntervalMultiplier: 1})},
		"a filter without an expression":      {ofAll, filtering(&api.ReadReq_Options_FilterOptions{Filter: expression(""), Window: window, CheckpointIntervalMultiplier: 1})},
		"a bad expression":                    {ofAll, filtering(&api.ReadReq_Options_FilterOptions{Filter: expression("("), Window: window, CheckpointIntervalMultiplier: 1})},
		"no window":                           {ofAll, filtering(&api.ReadReq_Options_FilterOptions{Filter: expression("", "s"), CheckpointIntervalMultiplier: 1})},
		"window 0 of a subscription":          {ofAll, subscribing, filtering(&api.ReadReq_Options_FilterOptions{Filter: expression("", "s"), Window: &api.ReadReq_Options_FilterOptions_Max{}, CheckpointIntervalMultiplier: 1})},
		"multiplier 0 of a subscription":      {ofAll, subscribing, byStream(0, "s")},
		"a bad expression in a subscription":  {ofAll, subscribing, filtering(&api.ReadReq_Options_FilterOptions{Filter: expression("["), Window: window, CheckpointIntervalMultiplier: 1})},
	}
	for name, asked := range tests {
		t.Run(name, func(t *testing.T) {
			a := f.in(t).read(asked...)
			require.Equal(t, codes.InvalidArgument, a.code)
			require.Empty(t, a.messages)
		})
	}
	t.Run("no options", func(t *testing.T) {
		call, err := f.streams.Read(f.ctx, &api.ReadReq{})
		require.NoError(t, err)
		_, err = call.Recv()
		require.ErrorContains(t, err, "InvalidArgument")
	})
	t.Run("a read needs no checkpoint interval", func(t *testing.T) {
		require.Equal(t, codes.OK, f.in(t).read(ofAll, byStream(0, "s")).code)
	})
}

// Clients with compatibility 1 or higher get the last stream position. They also get
// the first stream position if it is beyond the first page.
func TestFirstAndLastStreamPositions(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(50)...)
	shape := func(t *testing.T, asked ...asking) (first, last *uint64, events int) {
		messages := f.in(t).read(append([]asking{ofStream("s")}, asked...)...).messages
		for i, m := range messages {
			switch c := m.GetContent().(type) {
			case *api.ReadResp_FirstStreamPosition:
				require.Zero(t, i, "the first position comes first")
				first = &c.FirstStreamPosition
			case *api.ReadResp_LastStreamPosition:
				require.Equal(t, len(messages)-1, i, "the last position ends the read")
				last = &c.LastStreamPosition
			default:
				events++
			}
		}
		return first, last, events
	}
	at := func(n uint64) *uint64 { return &n }
	tests := []struct {
		name   string
		meta   string
		read   []asking
		first  *uint64
		events int
	}{
		{"plain", `{}`, nil, nil, 50},
		{"backwards", `{}`, []asking{down, theEnd, counting(3)}, nil, 3},
		{"$tb 31 from 0", `{"$tb":31}`, nil, nil, 19},
		{"$tb 32 from 0", `{"$tb":32}`, nil, at(32), 18},
		{"$tb 32, backwards", `{"$tb":32}`, []asking{down, theEnd}, nil, 18},
		{"$tb 5, 5 from 0", `{"$tb":5}`, []asking{counting(5)}, at(5), 5},
		{"$tb 5, 6 from 0", `{"$tb":5}`, []asking{counting(6)}, nil, 6},
		{"$tb 40 from 8", `{"$tb":40}`, []asking{fromRevision(8)}, at(40), 10},
		{"$tb 40 from 9", `{"$tb":40}`, []asking{fromRevision(9)}, nil, 10},
		{"beyond the end", `{}`, []asking{fromRevision(50)}, at(50), 0},
		{"from the end", `{}`, []asking{theEnd}, at(50), 0},
		{"all hidden", `{"$tb":60}`, nil, at(50), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f.in(t).setMeta("s", test.meta)
			first, last, events := shape(t, append(test.read, compatible)...)
			require.Equal(t, test.first, first)
			require.Equal(t, at(49), last)
			require.Equal(t, test.events, events)

			first, last, events = shape(t, test.read...)
			require.Nil(t, first)
			require.Nil(t, last)
			require.Equal(t, test.events, events)
		})
	}
	t.Run("never on $all", func(t *testing.T) {
		for _, m := range f.in(t).read(ofAll, compatible).messages {
			require.NotNil(t, m.GetEvent())
		}
	})
}

// The count of a read has no upper limit. A read of many pages works in both
// directions.
func TestReadsAcrossPages(t *testing.T) {
	f := serve(t)
	const n = 3*storage.PageRecords + 7
	for at := 0; at < n; at += 500 {
		f.must("s", int64(at)-1, fresh(min(500, n-at))...)
	}
	up := f.revisions(ofStream("s"), counting(math.MaxUint64))
	require.Len(t, up, n)
	back := f.revisions(ofStream("s"), down, theEnd, counting(math.MaxUint64))
	require.Len(t, back, n)
	for i := range n {
		require.EqualValues(t, i, up[i])
		require.EqualValues(t, n-1-i, back[i])
	}
	require.Len(t, f.positions(), n)
	require.Len(t, f.events(ofAll, down, theEnd, counting(n-1)), n-1)
	require.Empty(t, f.events(ofAll, byStream(1, "none")))
}

// $all contains system and metadata events. It hides the checkpoint and parked
// streams of persistent subscriptions to $all.
func TestAllHoldsSystemEvents(t *testing.T) {
	f := serve(t)
	shown := []string{"s", "$$s", "$system", "$persistentsubscription-s::g-parked", "$persistentsubscription-$all::g"}
	for _, stream := range shown {
		f.must(stream, writer.Any, fresh(1)...)
	}
	for _, stream := range []string{"$persistentsubscription-$all::g-checkpoint", "$persistentsubscription-$all::g-parked"} {
		f.must(stream, writer.Any, fresh(1)...)
		require.Len(t, f.events(ofStream(stream)), 1)
	}
	got := []string{}
	for _, e := range f.events(ofAll) {
		got = append(got, string(e.GetEvent().GetStreamIdentifier().GetStreamName()))
	}
	require.Equal(t, shown, got)
}

func TestLinks(t *testing.T) {
	f := serve(t)
	f.must("target", writer.NoStream, fresh(3)...)
	f.must("hidden", writer.NoStream, fresh(2)...)
	f.setMeta("hidden", `{"$tb":1}`)
	f.must("gone", writer.NoStream, fresh(1)...)
	f.tombstone("gone", writer.Any)
	f.must("soft", writer.NoStream, fresh(1)...)
	f.delete("soft", writer.Any)
	tests := []struct {
		data   string
		target uint64
		leads  bool // whether a read that resolves links returns an event
		link   bool
	}{
		{"2@target", 2, true, true},
		{"1@hidden", 1, true, true},
		{"3@target", 0, false, true},
		{"0@none", 0, false, true},
		{"0@hidden", 0, false, true},
		{"0@gone", 0, false, true},
		{"0@soft", 0, false, true},
		{"nonsense", 0, true, false},
		{"x@target", 0, true, false},
		{"-1@target", 0, true, false},
		{"1@", 0, true, false},
	}
	for _, test := range tests {
		f.must("links", writer.Any, wireEvent(record.TypeLink, uuid.New(), test.data))
	}
	resolved := f.events(ofStream("links"), resolving)
	plain := f.events(ofStream("links"))
	for i, test := range tests {
		t.Run(test.data, func(t *testing.T) {
			got := resolved[i]
			require.Nil(t, plain[i].GetLink())
			require.Equal(t, test.data, string(plain[i].GetEvent().GetData()))
			require.Equal(t, plain[i].GetCommitPosition(), got.GetCommitPosition(), "the position of the link")
			switch {
			case !test.link:
				require.Nil(t, got.GetLink())
				require.Equal(t, test.data, string(got.GetEvent().GetData()))
			case !test.leads:
				require.Nil(t, got.GetEvent())
				require.Equal(t, test.data, string(got.GetLink().GetData()))
			default:
				require.Equal(t, test.data, string(got.GetLink().GetData()))
				require.Equal(t, test.target, got.GetEvent().GetStreamRevision())
			}
		})
	}
	t.Run("in $all, and filtered by the link", func(t *testing.T) {
		require.Len(t, f.in(t).events(ofAll, resolving, byStream(1, "links")), len(tests))
		require.NotNil(t, f.in(t).events(ofAll, resolving, byStream(1, "links"))[0].GetLink())
	})
}
