package node

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// The method links() returns the data of the links in a stream.
func (f *fixture) links(stream string, asked ...asking) []string {
	f.t.Helper()
	links := []string{}
	for _, e := range f.events(append([]asking{ofStream(stream)}, asked...)...) {
		require.Equal(f.t, record.TypeLink, e.GetEvent().GetMetadata()[wire.MetaType])
		require.Equal(f.t, "application/octet-stream", e.GetEvent().GetMetadata()[wire.MetaContentType])
		links = append(links, string(e.GetEvent().GetData()))
	}
	return links
}

func TestCategories(t *testing.T) {
	f := serve(t)
	of := func(kind string) *api.AppendReq_ProposedMessage { return wireEvent(kind, uuid.New(), "{}") }
	f.must("x-1", writer.Any, of("A"), of("B"))
	f.must("x-2-3", writer.Any, of("A"))
	f.must("plain", writer.Any, of("A"))
	f.must("-none", writer.Any, of("C"))
	f.must("$x-1", writer.Any, of("A"))
	f.setMeta("x-1", `{"$maxCount":9}`)
	f.must("x-l", writer.Any, of(record.TypeLink))

	require.Equal(t, []string{"0@x-1", "1@x-1", "0@x-2-3", "{}"}, f.links("$ce-x"))
	require.Equal(t, []string{"0@x-1", "0@x-2-3", "0@plain"}, f.links("$et-A"))
	require.Equal(t, []string{"0@-none"}, f.links("$et-C"))
	require.NotNil(t, f.read(ofStream("$ce-")).messages[0].GetStreamNotFound())
	require.NotNil(t, f.read(ofStream("$ce-plain")).messages[0].GetStreamNotFound())

	require.Equal(t, []string{"0@x-2-3", "1@x-1"}, f.links("$ce-x", fromRevision(2), down, counting(2)))
	require.Equal(t, []string{"1@x-1", "0@x-2-3"}, f.links("$ce-x", fromRevision(1), counting(2)))
	a := f.read(ofStream("$ce-x"), compatible)
	require.EqualValues(t, 3, a.messages[len(a.messages)-1].GetLastStreamPosition())
	resolved := f.events(ofStream("$ce-x"), resolving)[2]
	require.Equal(t, "x-2-3", string(resolved.GetEvent().GetStreamIdentifier().GetStreamName()))
	require.EqualValues(t, 2, resolved.GetLink().GetStreamRevision())
	again := f.events(ofStream("$ce-x"), resolving)[2]
	require.Equal(t, resolved.GetLink().GetId().String(), again.GetLink().GetId().String())

	f.delete("x-2-3", writer.Any)
	f.tombstone("x-1", writer.Any)
	deletes := []string{"0@$$x-2-3", fmt.Sprintf("%d@x-1", int64(math.MaxInt64))}
	require.Equal(t, deletes, f.links("$ce-x", fromRevision(4)))
	require.Equal(t, deletes, f.links("$et-"+"$deleted"))
	for _, e := range f.events(ofAll) {
		require.NotContains(t, string(e.GetEvent().GetStreamIdentifier().GetStreamName()), "$ce-")
	}
}

// Clients cannot write to a link stream, but they can set its metadata.
func TestClientsCannotWriteCategories(t *testing.T) {
	f := serve(t)
	for range 4 {
		f.must("x-1", writer.Any, fresh(1)...)
	}
	f.setMeta("$ce-x", `{"$maxCount":2}`)
	require.Equal(t, []string{"2@x-1", "3@x-1"}, f.links("$ce-x"))
	for _, refused := range []reply{f.append("$ce-x", writer.Any, fresh(1)...), f.delete("$et-A", writer.Any), f.tombstone("$ce-x", writer.Any)} {
		require.Equal(t, codes.PermissionDenied, refused.code)
		require.Equal(t, []string{"access-denied"}, refused.trailers.Get("exception"))
	}
}

// A client that reads a category sees the events that it wrote. The official client
// can subscribe to a category, directly or through a persistent subscription.
func TestCategorySubscriptions(t *testing.T) {
	f := serve(t)
	f.must("x-1", writer.Any, fresh(1)...)
	s := f.subscribe(ofStream("$ce-x"), resolving).confirmed()
	require.Equal(t, "x-1", string(s.event().GetStreamIdentifier().GetStreamName()))
	s.caughtUp()
	f.must("y-1", writer.Any, fresh(1)...)
	f.must("x-2", writer.Any, fresh(1)...)
	require.Equal(t, "x-2", string(s.event().GetStreamIdentifier().GetStreamName()))

	team := f.team("$ce-x", settings(checkpointing, func(s *esdb.PersistentSubscriptionSettings) { s.ResolveLinkTos = true }))
	w := team.join(3)
	require.Equal(t, "x-1", w.next(0).Event.StreamID)
	second := w.next(0)
	require.Equal(t, "x-2", second.Event.StreamID)
	require.Equal(t, "$ce-x", second.Link.StreamID)
	w.nack(esdb.NackActionPark, second)
	require.Equal(t, "0@x-2", string(team.until(team.parked(), 1).Data))
	f.must("x-3", writer.Any, fresh(1)...)
	require.EqualValues(t, 2, w.next(0).Link.EventNumber)
	require.EqualValues(t, 2, *team.info().Stats.LastKnownEventRevision)
}

// The node builds the index when a client first reads a category. After a restart,
// it continues with the existing index. It rebuilds the index from scratch if the
// index is damaged or belongs to another log.
func TestCategoriesIndex(t *testing.T) {
	fs := vfs.NewMem()
	run := func(name string, do func(f *fixture)) {
		t.Run(name, func(t *testing.T) { do(serve(t, Options{FS: fs})) })
	}
	path := fs.PathJoin("log", categoriesFolder)
	run("not built before the first read", func(f *fixture) {
		f.must("x-1", writer.Any, fresh(1200)...) // several pages
		_, err := fs.Stat(path)
		require.Error(f.t, err)
	})
	run("built", func(f *fixture) { require.Len(f.t, f.links("$ce-x"), 1200) })
	run("appended without a read", func(f *fixture) { f.must("x-2", writer.Any, fresh(1)...) })
	run("caught up", func(f *fixture) {
		links := f.links("$ce-x")
		require.Len(f.t, links, 1201)
		require.Equal(f.t, "0@x-2", links[1200])
	})
	other := vfs.NewMem()
	t.Run("built for another log", func(t *testing.T) {
		n, err := Open(Options{Dir: "log", FS: other, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		require.NoError(t, n.Close())
		ok, err := vfs.Clone(fs, other, path, path)
		require.NoError(t, err)
		require.True(t, ok)
		f := serve(t, Options{FS: other})
		f.must("x-7", writer.Any, fresh(1)...)
		require.Equal(t, []string{"0@x-7"}, f.links("$ce-x"))
	})
	t.Run("damaged manifest", func(t *testing.T) {
		names, err := fs.List(path)
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasPrefix(name, "MANIFEST-") {
				require.NoError(t, saveFile(fs, fs.PathJoin(path, name), "no manifest"))
			}
		}
		require.Len(t, serve(t, Options{FS: fs}).links("$ce-x"), 1201)
	})
	t.Run("damaged tables", func(t *testing.T) {
		names, err := fs.List(path)
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, ".sst") {
				text, err := loadFile(fs, fs.PathJoin(path, name))
				require.NoError(t, err)
				half := len(text) / 4
				require.NoError(t, saveFile(fs, fs.PathJoin(path, name), text[:half]+"damage"+text[half+6:]))
			}
		}
		t.Run("noticed", func(t *testing.T) {
			a := serve(t, Options{FS: fs}).read(ofStream("$ce-x"))
			require.Equal(t, codes.DataLoss, a.code)
		})
		t.Run("and rebuilt", func(t *testing.T) {
			require.Len(t, serve(t, Options{FS: fs}).links("$ce-x"), 1201)
		})
	})
	found, err := storage.Check(t.Context(), "log", fs, nil)
	require.NoError(t, err)
	require.Zero(t, found.Damages, found.Named)
}

// A category no longer shows links to scavenged events. The other links keep their
// revisions.
func TestCategoriesAfterAScavenge(t *testing.T) {
	f := serve(t)
	f.must("x-1", writer.Any, fresh(2)...)
	f.must("x-2", writer.Any, fresh(1)...)
	require.Len(t, f.links("$ce-x"), 3)
	f.tombstone("x-1", writer.Any)
	_, err := f.node.Scavenge(f.ctx, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"0@x-2", fmt.Sprintf("%d@x-1", int64(math.MaxInt64))}, f.links("$ce-x"))
	require.Equal(t, []uint64{2, 3}, f.revisions(ofStream("$ce-x")))
}
