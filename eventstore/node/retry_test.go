package node

import (
	"testing"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node/writer"
)

// If the expected revision is below the current one, the node compares the append's ids
// with the ids stored after the expected revision.
func TestRetriesAtExactRevisions(t *testing.T) {
	f := serve(t)
	stored := fresh(5)
	first := f.must("s", writer.NoStream, stored[:2]...)
	second := f.must("s", 1, stored[2:]...)

	t.Run("a retry stores nothing new and gets the first answer", func(t *testing.T) {
		f := f.in(t)
		require.Equal(t, first.String(), f.must("s", writer.NoStream, stored[:2]...).String())
		require.Equal(t, second.String(), f.must("s", 1, stored[2:]...).String())
		require.Len(t, f.events(ofStream("s")), 5)
	})
	t.Run("a prefix of the stored events is a retry", func(t *testing.T) {
		success := f.in(t).must("s", 1, stored[2:4]...)
		require.EqualValues(t, 3, success.GetCurrentRevision())
		require.Less(t, success.GetPosition().GetCommitPosition(), second.GetPosition().GetCommitPosition())
	})
	t.Run("one retry with the events of two calls", func(t *testing.T) {
		require.EqualValues(t, 4, f.in(t).must("s", 0, stored[1:]...).GetCurrentRevision())
	})
	for name, events := range map[string][]*api.AppendReq_ProposedMessage{
		"beyond the end":        append(append([]*api.AppendReq_ProposedMessage{}, stored[2:]...), fresh(1)...),
		"another id":            {stored[2], fresh(1)[0]},
		"a different order":     {stored[3], stored[2]},
		"from another revision": stored[3:],
	} {
		t.Run(name+" is a wrong version", func(t *testing.T) {
			require.EqualValues(t, 4, f.in(t).refused("s", 1, events...).GetCurrentRevision())
		})
	}
	t.Run("expected = current with a known id is a new event", func(t *testing.T) {
		require.EqualValues(t, 5, f.in(t).must("s", 4, stored[0]).GetCurrentRevision())
	})
	t.Run("hidden: no_position", func(t *testing.T) {
		f := f.in(t)
		f.setMeta("s", `{"$tb":2}`)
		success := f.must("s", writer.NoStream, stored[:2]...)
		require.EqualValues(t, 1, success.GetCurrentRevision())
		require.NotNil(t, success.GetNoPosition())
		require.NotNil(t, f.must("s", 1, stored[2:]...).GetPosition())
	})
}

// If an append expects "any" or "stream_exists", the node looks up the append's first
// id in a bounded cache of recent ids.
func TestRetriesAtAnyRevision(t *testing.T) {
	for name, expected := range map[string]int64{"any": writer.Any, "stream_exists": writer.StreamExists} {
		t.Run(name, func(t *testing.T) {
			f := serve(t)
			stored := fresh(3)
			f.must("s", writer.NoStream, fresh(1)...)
			original := f.must("s", expected, stored...)

			require.Equal(t, original.String(), f.must("s", expected, stored...).String())
			require.EqualValues(t, 2, f.must("s", expected, stored[0], stored[1]).GetCurrentRevision())
			require.EqualValues(t, 3, f.must("s", expected, stored[0], stored[2]).GetCurrentRevision(), "the revision of the last event")
			require.EqualValues(t, 1, f.must("s", expected, stored[2], stored[0]).GetCurrentRevision(), "any order")
			require.EqualValues(t, 1, f.must("s", expected, stored[0], stored[0]).GetCurrentRevision(), "repeated")
			require.EqualValues(t, 2, f.must("s", expected, stored[0], stored[0], stored[1]).GetCurrentRevision())
			require.Len(t, f.events(ofStream("s")), 4)

			f.refused("s", expected, stored[0], fresh(1)[0])
			require.EqualValues(t, 5, f.must("s", expected, fresh(1)[0], stored[0]).GetCurrentRevision(), "the first id is unknown, so both are appended")

			f.must("other", writer.NoStream, fresh(1)...)
			require.EqualValues(t, 1, f.must("other", expected, stored[1]).GetCurrentRevision(), "the id is known only in another stream, so the event is new")
		})
	}
}

func TestRetriesAreKnownAfterReopening(t *testing.T) {
	fs := crashable()
	stored := fresh(2)
	f := serve(t, Options{FS: fs})
	first := f.must("s", writer.Any, stored...)
	again := serve(t, Options{FS: powerLoss(fs, 0)})
	require.Equal(t, first.String(), again.must("s", writer.Any, stored...).String())
	require.Len(t, again.events(ofStream("s")), 2)
}

// An append that expects "no_stream" succeeds on a soft-deleted stream if its ids are
// new. If the ids are known, the node treats the append as a retry, and the stream
// stays deleted.
func TestRetriesOnSoftDeletedStreams(t *testing.T) {
	f := serve(t)
	stored := fresh(2)
	f.must("s", writer.NoStream, stored...)
	f.delete("s", writer.Any)

	for _, expected := range []int64{writer.NoStream, writer.Any} {
		success := f.must("s", expected, stored...)
		require.EqualValues(t, 1, success.GetCurrentRevision())
		require.NotNil(t, f.read(ofStream("s")).messages[0].GetStreamNotFound(), "the stream stays deleted")
	}
	require.EqualValues(t, 2, f.must("s", writer.NoStream, fresh(1)...).GetCurrentRevision())
	require.Equal(t, []uint64{2}, f.revisions(ofStream("s")))
}
