package node

import (
	"fmt"
	"math"
	"testing"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// The confirmation comes first. A start revision is exclusive. A subscription
// from the start includes event 0, and a subscription from the end gets only
// new events.
func TestStreamSubscriptions(t *testing.T) {
	tests := []struct {
		name string
		from []asking
		want []uint64 // which of the 3 stored and 2 new events the subscription yields
	}{
		{"from the start", nil, []uint64{0, 1, 2, 3, 4}},
		{"from a revision, exclusive", []asking{fromRevision(1)}, []uint64{2, 3, 4}},
		{"from revision 0", []asking{fromRevision(0)}, []uint64{1, 2, 3, 4}},
		{"from the last event", []asking{fromRevision(2)}, []uint64{3, 4}},
		{"from the end", []asking{theEnd}, []uint64{3, 4}},
		{"from the highest revision", []asking{fromRevision(math.MaxUint64)}, []uint64{3, 4}},
		{"from beyond the end", []asking{fromRevision(3)}, []uint64{4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := serve(t)
			f.must("s", writer.NoStream, fresh(3)...)
			s := f.subscribe(append([]asking{ofStream("s")}, test.from...)...).confirmed()
			for _, want := range test.want {
				if want == 3 || want == 4 && len(test.want) == 1 {
					s.caughtUp()
					f.must("other", writer.Any, fresh(1)...)
					f.must("s", 2, fresh(2)...)
				}
				require.Equal(t, want, s.event().GetStreamRevision())
			}
		})
	}
}

// A subscription to a missing or soft-deleted stream is confirmed, and the subscriber
// is told that it has caught up.
func TestSubscriptionsToMissingStreams(t *testing.T) {
	f := serve(t)
	s := f.subscribe(ofStream("s")).confirmed().caughtUp()
	f.must("s", writer.NoStream, fresh(1)...)
	require.Zero(t, s.event().GetStreamRevision())

	f.delete("s", writer.Any)
	again := f.subscribe(ofStream("s")).confirmed().caughtUp()
	f.must("s", 0, fresh(1)...)
	require.EqualValues(t, 1, s.event().GetStreamRevision())
	require.EqualValues(t, 1, again.event().GetStreamRevision())
}

// When a stream is tombstoned, a subscriber gets the $streamDeleted event and
// then the error.
func TestSubscriptionsEndAtATombstone(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(1)...)
	s := f.subscribe(ofStream("s")).confirmed()
	s.event()
	s.caughtUp()
	f.tombstone("s", writer.Any)
	last := s.event()
	require.EqualValues(t, math.MaxInt64, last.GetStreamRevision())
	require.Equal(t, record.TypeStreamDeleted, last.GetMetadata()[wire.MetaType])
	requireDeleted(t, "s", s.dropped(), s.trailers)
}

func TestSubscriptionsSkipHiddenEvents(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(5)...)
	f.setMeta("s", `{"$tb":3}`)
	s := f.subscribe(ofStream("s")).confirmed()
	require.EqualValues(t, 3, s.event().GetStreamRevision())
	require.EqualValues(t, 4, s.event().GetStreamRevision())
	s.caughtUp()
}

func TestSubscriptionsResolveLinks(t *testing.T) {
	f := serve(t)
	f.must("target", writer.NoStream, fresh(1)...)
	s := f.subscribe(ofStream("links"), resolving).confirmed().caughtUp()
	link := fresh(1)[0]
	link.Metadata[wire.MetaType], link.Data = record.TypeLink, []byte("0@target")
	f.must("links", writer.Any, link)
	got := s.next().GetEvent()
	require.Equal(t, "target", string(got.GetEvent().GetStreamIdentifier().GetStreamName()))
	require.Equal(t, "links", string(got.GetLink().GetStreamIdentifier().GetStreamName()))
}

// A start position is exclusive, but a start with commit position P and prepare
// position 0 includes the event at P. A subscription that starts beyond the end waits
// for new events. If no event is at the start position, the subscriber gets the
// confirmation and then an error.
func TestSubscriptionsToAll(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(4)...)
	p := f.positions()
	tests := []struct {
		name string
		from asking
		want []uint64
	}{
		{"from the start", ofAll, p},
		{"from 0", atPosition(0, 0), p},
		{"from a position, exclusive", atPosition(p[1], p[1]), p[2:]},
		{"from (P, 0), inclusive", atPosition(p[1], 0), p[1:]},
		{"from the last event", atPosition(p[3], p[3]), nil},
		{"from the end", theEnd, nil},
		{"from MaxUint64", atPosition(math.MaxUint64, math.MaxUint64), nil},
		{"from beyond the end", atPosition(p[3]+1, p[3]+1), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := f.in(t)
			s := f.subscribe(ofAll, test.from).confirmed()
			for _, want := range test.want {
				require.Equal(t, want, s.event().GetCommitPosition())
			}
			s.caughtUp()
		})
	}
	t.Run("a position that belongs to no record", func(t *testing.T) {
		s := f.in(t).subscribe(ofAll, atPosition(p[1]+1, p[1]+1)).confirmed()
		require.Equal(t, codes.InvalidArgument, s.dropped())
	})
	t.Run("new events are live", func(t *testing.T) {
		f := f.in(t)
		s := f.subscribe(ofAll, theEnd).confirmed().caughtUp()
		for i := range 3 {
			stream := fmt.Sprintf("live-%d", i)
			f.must(stream, writer.NoStream, fresh(1)...)
			require.Equal(t, stream, string(s.event().GetStreamIdentifier().GetStreamName()))
		}
	})
}

// A filtered subscription gets a checkpoint after every multiplier × window events,
// both while it catches up and while it is live. It gets an additional checkpoint when
// it has caught up.
func TestCheckpoints(t *testing.T) {
	f := serve(t)
	for range 3 {
		f.must("a", writer.Any, fresh(1)...)
		f.must("b", writer.Any, fresh(1)...)
	}
	p := f.positions() // the streams are a b a b a b
	t.Run("an empty log has no checkpoint", func(t *testing.T) {
		serve(t).subscribe(ofAll, byStream(1, "a")).confirmed().caughtUp()
	})
	t.Run("catching up, then live", func(t *testing.T) {
		f := f.in(t)
		s := f.subscribe(ofAll, byStream(4, "b")).confirmed()
		require.Equal(t, p[1], s.event().GetCommitPosition())
		require.Equal(t, p[3], s.event().GetCommitPosition())
		require.Equal(t, p[3], s.checkpoint(), "after 4 events")
		require.Equal(t, p[5], s.event().GetCommitPosition())
		require.Equal(t, p[5], s.checkpoint(), "the checkpoint at the end of the catch-up")
		s.caughtUp()
		f.must("a", writer.Any, fresh(4)...)
		all := f.positions()
		require.Equal(t, all[9], s.checkpoint(), "after 4 events, none of which the filter selects")
	})
	t.Run("nothing selected: one checkpoint at the end of the catch-up", func(t *testing.T) {
		f := f.in(t)
		all := f.positions()
		s := f.subscribe(ofAll, byStream(1000, "none")).confirmed()
		require.Equal(t, all[len(all)-1], s.checkpoint())
		s.caughtUp()
	})
	t.Run("from the end", func(t *testing.T) {
		f := f.in(t)
		all := f.positions()
		s := f.subscribe(ofAll, theEnd, byStream(1000, "none")).confirmed()
		require.Equal(t, all[len(all)-1], s.checkpoint())
		s.caughtUp()
	})
	t.Run("beyond the end there is no checkpoint", func(t *testing.T) {
		f := f.in(t)
		all := f.positions()
		f.subscribe(ofAll, atPosition(all[len(all)-1]+5, 0), byStream(1, "none")).confirmed().caughtUp()
	})
	t.Run("the default window is 32", func(t *testing.T) {
		f := f.in(t)
		f.must("c", writer.Any, fresh(40)...)
		all := f.positions()
		s := f.subscribe(ofAll, filtering(&api.ReadReq_Options_FilterOptions{
			Filter:                       &api.ReadReq_Options_FilterOptions_EventType{EventType: &api.ReadReq_Options_FilterOptions_Expression{Regex: "^none$"}},
			Window:                       &api.ReadReq_Options_FilterOptions_Count{},
			CheckpointIntervalMultiplier: 1,
		})).confirmed()
		require.Equal(t, all[31], s.checkpoint())
		require.Equal(t, all[len(all)-1], s.checkpoint())
		s.caughtUp()
	})
}

// A filter on $all tests either the stream or the type of an event. It consists of
// prefixes or of a case-sensitive regular expression, which may match anywhere in
// the name.
func TestFilters(t *testing.T) {
	f := serve(t)
	for _, stream := range []string{"match-1", "Match-2", "ladder-match", "owner-1"} {
		e := fresh(1)[0]
		e.Metadata[wire.MetaType] = "Type" + stream[:1]
		f.must(stream, writer.NoStream, e)
	}
	stream := func(e *api.ReadReq_Options_FilterOptions_Expression) *api.ReadReq_Options_FilterOptions {
		return &api.ReadReq_Options_FilterOptions{Filter: &api.ReadReq_Options_FilterOptions_StreamIdentifier{StreamIdentifier: e}}
	}
	kind := func(e *api.ReadReq_Options_FilterOptions_Expression) *api.ReadReq_Options_FilterOptions {
		return &api.ReadReq_Options_FilterOptions{Filter: &api.ReadReq_Options_FilterOptions_EventType{EventType: e}}
	}
	prefix := func(p ...string) *api.ReadReq_Options_FilterOptions_Expression {
		return &api.ReadReq_Options_FilterOptions_Expression{Prefix: p}
	}
	regex := func(r string) *api.ReadReq_Options_FilterOptions_Expression {
		return &api.ReadReq_Options_FilterOptions_Expression{Regex: r}
	}
	tests := []struct {
		name   string
		filter *api.ReadReq_Options_FilterOptions
		want   []string
	}{
		{"a stream's prefix", stream(prefix("match-")), []string{"match-1"}},
		{"several", stream(prefix("match-", "owner-")), []string{"match-1", "owner-1"}},
		{"a stream's regex, anywhere", stream(regex("match")), []string{"match-1", "ladder-match"}},
		{"a stream's regex, anchored", stream(regex("^match-[0-9]$")), []string{"match-1"}},
		{"a type's prefix", kind(prefix("TypeM", "Typeo")), []string{"Match-2", "owner-1"}},
		{"a type's regex", kind(regex("[lo]$")), []string{"ladder-match", "owner-1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.filter.Window = &api.ReadReq_Options_FilterOptions_Max{Max: 32}
			test.filter.CheckpointIntervalMultiplier = 1
			s := f.in(t).subscribe(ofAll, filtering(test.filter)).confirmed()
			for _, want := range test.want {
				require.Equal(t, want, string(s.event().GetStreamIdentifier().GetStreamName()))
			}
			s.checkpoint()
			s.caughtUp()
		})
	}
}

// A slow subscriber gets every event once and in order, even if some events are no
// longer in memory.
func TestSlowSubscribersMissNothing(t *testing.T) {
	f := serve(t)
	live := f.subscribe(ofAll).confirmed().caughtUp()
	ofS := f.subscribe(ofStream("s")).confirmed().caughtUp()
	const calls, each = 24, 500
	for i := range calls {
		f.must("s", int64(i*each)-1, fresh(each)...)
	}
	for _, s := range []*subscription{live, ofS} {
		for next := uint64(0); next < calls*each; {
			m := s.next()
			if e := m.GetEvent(); e != nil {
				require.Equal(t, next, e.GetEvent().GetStreamRevision())
				next++
			} else {
				require.True(t, m.GetFellBehind() != nil || m.GetCaughtUp() != nil, "%v", m)
			}
		}
	}
}

func TestCloseEndsSubscriptions(t *testing.T) {
	f := serve(t)
	s := f.subscribe(ofAll).confirmed().caughtUp()
	t2 := f.subscribe(ofStream("s")).confirmed().caughtUp()
	require.NoError(t, f.node.Close())
	require.Equal(t, codes.Unavailable, s.dropped())
	require.Equal(t, codes.Unavailable, t2.dropped())
}
