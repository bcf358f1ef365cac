package node

import (
	"math"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

func requireDeleted(t *testing.T, stream string, code codes.Code, trailers map[string][]string) {
	t.Helper()
	require.Equal(t, codes.FailedPrecondition, code)
	require.Equal(t, []string{"stream-deleted"}, trailers["exception"])
	require.Equal(t, []string{stream}, trailers["stream-name"])
}

func requireWrongVersion(t *testing.T, r reply, stream, expected, actual string) {
	t.Helper()
	require.Equal(t, codes.FailedPrecondition, r.code)
	require.Equal(t, []string{"wrong-expected-version"}, r.trailers.Get("exception"))
	require.Equal(t, []string{stream}, r.trailers.Get("stream-name"))
	require.Equal(t, []string{expected}, r.trailers.Get("expected-version"))
	require.Equal(t, []string{actual}, r.trailers.Get("actual-version"))
}

// A soft delete replaces the stream's metadata with metadata that hides all events.
func TestSoftDelete(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(3)...)
	f.setMeta("s", `{"$maxCount":2,"mine":"kept"}`)
	r := f.delete("s", 2)
	require.Equal(t, codes.OK, r.code)

	meta := f.events(ofStream("$$s"))
	require.Len(t, meta, 1)
	require.JSONEq(t, `{"$tb":9223372036854775807}`, string(meta[0].GetEvent().GetData()))
	require.Equal(t, r.position, meta[0].GetEvent().GetCommitPosition(), "the position is that of the $$s event")
	require.Equal(t, "s", string(f.read(ofStream("s")).messages[0].GetStreamNotFound().GetStreamIdentifier().GetStreamName()))
	require.Len(t, f.events(ofAll), 5, "$all keeps everything")
}

func TestSoftDeleteExpectations(t *testing.T) {
	f := serve(t)
	requireWrongVersion(t, f.delete("none", writer.Any), "none", "-2", "-1")
	requireWrongVersion(t, f.delete("none", writer.NoStream), "none", "-1", "-1")
	f.must("s", writer.NoStream, fresh(2)...)
	requireWrongVersion(t, f.delete("s", 0), "s", "0", "1")
	requireWrongVersion(t, f.delete("s", writer.NoStream), "s", "-1", "1")
	require.Equal(t, codes.OK, f.delete("s", writer.StreamExists).code)
	t.Run("a second delete", func(t *testing.T) {
		f := f.in(t)
		for _, expected := range []int64{writer.Any, writer.NoStream, 1} {
			require.Equal(t, codes.OK, f.delete("s", expected).code, "%d", expected)
		}
		requireWrongVersion(t, f.delete("s", 0), "s", "0", "1")
		r := f.delete("s", writer.StreamExists)
		requireDeleted(t, "s", r.code, r.trailers)
	})
	require.Equal(t, codes.InvalidArgument, f.delete("$$s", writer.Any).code)
	require.Equal(t, codes.InvalidArgument, f.tombstone("$$s", writer.Any).code)
	require.Equal(t, codes.InvalidArgument, f.delete("", writer.Any).code)
}

// The next append to a soft-deleted stream continues the stream's revisions. The append
// sets $tb to its own first revision and keeps the other metadata.
func TestAppendUndeletes(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(3)...)
	f.setMeta("s", `{"$tb":9223372036854775807,"$maxAge":3600,"mine":[1]}`)
	r := f.append("s", writer.StreamExists, fresh(1)...)
	requireDeleted(t, "s", r.code, r.trailers)

	require.EqualValues(t, 4, f.must("s", 2, fresh(2)...).GetCurrentRevision())
	require.Equal(t, []uint64{3, 4}, f.revisions(ofStream("s")))
	meta := f.events(ofStream("$$s"))
	require.EqualValues(t, 1, meta[0].GetEvent().GetStreamRevision())
	require.JSONEq(t, `{"$tb":3,"$maxAge":3600,"mine":[1]}`, string(meta[0].GetEvent().GetData()))
	require.Equal(t, record.TypeMetadata, meta[0].GetEvent().GetMetadata()[wire.MetaType])

	f.must("s", writer.StreamExists, fresh(1)...)
	require.Equal(t, []uint64{3, 4, 5}, f.revisions(ofStream("s")), "only the first append undeletes")
}

// New metadata undeletes a stream too.
func TestMetadataUndeletes(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(2)...)
	f.delete("s", writer.Any)
	f.setMeta("s", `{"mine":1}`)
	require.Empty(t, f.read(ofStream("s")).messages, "the stream exists and is empty")
	require.JSONEq(t, `{"mine":1,"$tb":2}`, string(f.events(ofStream("$$s"))[0].GetEvent().GetData()))
	f.must("s", 1, fresh(1)...)
	require.Equal(t, []uint64{2}, f.revisions(ofStream("s")))
}

// A tombstone has the highest possible revision. It may be written to a stream that
// does not exist. Once a stream has a tombstone, every call for the stream is rejected.
func TestTombstone(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(2)...)
	requireWrongVersion(t, f.tombstone("s", 0), "s", "0", "1")
	requireWrongVersion(t, f.tombstone("s", writer.NoStream), "s", "-1", "1")
	requireWrongVersion(t, f.tombstone("none", writer.StreamExists), "none", "-4", "-1")
	requireWrongVersion(t, f.tombstone("none", 0), "none", "0", "-1")
	done := f.tombstone("s", 1)
	require.Equal(t, codes.OK, done.code, done.message)

	t.Run("the tombstone is in $all", func(t *testing.T) {
		all := f.in(t).events(ofAll)
		last := all[len(all)-1].GetEvent()
		require.Equal(t, done.position, last.GetCommitPosition())
		require.Equal(t, record.TypeStreamDeleted, last.GetMetadata()[wire.MetaType])
		require.EqualValues(t, math.MaxInt64, last.GetStreamRevision())
		require.Empty(t, last.GetData())
	})
	t.Run("appends, reads and deletes are rejected", func(t *testing.T) {
		f := f.in(t)
		for _, expected := range []int64{writer.Any, writer.NoStream, writer.StreamExists, 0, 1, math.MaxInt64} {
			for _, stream := range []string{"s", "$$s"} {
				r := f.append(stream, expected, fresh(1)...)
				requireDeleted(t, stream, r.code, r.trailers)
			}
			r := f.tombstone("s", expected)
			requireDeleted(t, "s", r.code, r.trailers)
			r = f.delete("s", expected)
			requireDeleted(t, "s", r.code, r.trailers)
		}
		for _, stream := range []string{"s", "$$s"} {
			for _, way := range [][]asking{{}, {down}, {subscribing}} {
				a := f.read(append([]asking{ofStream(stream)}, way...)...)
				requireDeleted(t, stream, a.code, a.trailers)
				require.Empty(t, a.messages)
			}
		}
	})
	t.Run("missing streams", func(t *testing.T) {
		f := f.in(t)
		require.Equal(t, codes.OK, f.tombstone("m1", writer.Any).code)
		require.Equal(t, codes.OK, f.tombstone("m2", writer.NoStream).code)
		r := f.append("m1", writer.Any, fresh(1)...)
		requireDeleted(t, "m1", r.code, r.trailers)
	})
	t.Run("a soft-deleted stream", func(t *testing.T) {
		f := f.in(t)
		f.must("soft", writer.NoStream, fresh(1)...)
		f.delete("soft", writer.Any)
		require.Equal(t, codes.OK, f.tombstone("soft", writer.NoStream).code)
		r := f.append("soft", 0, fresh(1)...)
		requireDeleted(t, "soft", r.code, r.trailers)
	})
}

func TestTrailersArePrintable(t *testing.T) {
	f := serve(t)
	f.tombstone("straße\n100%", writer.Any)
	r := f.append("straße\n100%", writer.Any, fresh(1)...)
	requireDeleted(t, "stra%C3%9Fe%0A100%25", r.code, r.trailers)
	require.Contains(t, r.message, "straße\n100%")
}

func TestDeletesThroughTheOfficialClient(t *testing.T) {
	f := serve(t)
	client := f.official()
	stream := "s-" + uuid.NewString()
	requireClientLifecycle(t, f, client, stream)
}
