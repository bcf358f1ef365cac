package node

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Many writers at exact revisions, each on its own connection: every revision
// is taken once, and what one sees acknowledged all see.
func TestConcurrentAppendsToOneStream(t *testing.T) {
	const writers, each = 8, 20
	f := serve(t)
	var lost, won atomic.Int64
	var running sync.WaitGroup
	for range writers {
		conn, err := grpc.NewClient(f.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer conn.Close()
		g := *f
		g.streams = api.NewStreamsClient(conn)
		running.Go(func() {
			next := int64(expectNoStream)
			for done := 0; done < each; {
				r := g.append("s", next, fresh(1)...)
				if s := r.response.GetSuccess(); s != nil {
					done, next = done+1, int64(s.GetCurrentRevision())
					won.Add(1)
					continue
				}
				wrong := r.response.GetWrongExpectedVersion()
				if wrong == nil {
					t.Errorf("append at %d: %v", next, r)
					return
				}
				lost.Add(1)
				next = int64(wrong.GetCurrentRevision())
			}
		})
	}
	running.Wait()
	revisions := f.revisions(ofStream("s"))
	require.Len(t, revisions, writers*each)
	require.EqualValues(t, writers*each, won.Load())
	for i, revision := range revisions {
		require.EqualValues(t, i, revision)
	}
	t.Logf("%d appends were refused for their version", lost.Load())
}

// Appends to many streams at once, with a live subscriber: it gets each once,
// in the order of the log, and each stream's in theirs.
func TestConcurrentAppendsReachSubscribersInOrder(t *testing.T) {
	const streams, each = 16, 25
	f := serve(t)
	s := f.subscribe(ofAll).confirmed().caughtUp()
	var running sync.WaitGroup
	for i := range streams {
		running.Go(func() {
			for revision := range each {
				f.append(fmt.Sprintf("s-%d", i), int64(revision)-1, fresh(1)...)
			}
		})
	}
	next, last := map[string]uint64{}, uint64(0)
	for range streams * each {
		e := s.event()
		stream := string(e.GetStreamIdentifier().GetStreamName())
		require.Equal(t, next[stream], e.GetStreamRevision())
		require.Greater(t, e.GetCommitPosition(), last)
		next[stream]++
		last = e.GetCommitPosition()
	}
	running.Wait()
}

// What is appended by any means in one burst is decided as if one after
// another, also where a request depends on the one before.
func TestRequestsOfOneGroup(t *testing.T) {
	w, s := bareWriter(t)
	id := uuid.New()
	event := proposed{id: id, kind: "T"}
	requests := []*request{
		{stream: "s", expected: expectNoStream, events: []proposed{event}},
		{stream: "s", expected: expectNoStream, events: []proposed{event}}, // a retry
		{stream: "s", expected: expectNoStream, events: []proposed{{id: uuid.New(), kind: "T"}}},
		{stream: "s", expected: 0, events: []proposed{{id: uuid.New(), kind: "T"}}},
		{stream: "$$s", expected: expectAny, events: []proposed{{id: uuid.New(), kind: typeMetadata, data: `{"$tb":1}`}}},
		{act: actDelete, stream: "s", expected: 1},
		{stream: "s", expected: 1, events: []proposed{{id: uuid.New(), kind: "T"}}},
		{act: actTombstone, stream: "s", expected: expectAny},
		{stream: "$$s", expected: expectAny, events: []proposed{{id: uuid.New(), kind: typeMetadata}}},
	}
	for _, r := range requests {
		r.done = make(chan outcome, 1)
	}
	require.True(t, w.enqueue(requests...))
	got := []outcome{}
	for _, r := range requests {
		out := <-r.done
		out.position = 0
		got = append(got, out)
	}
	require.Equal(t, []outcome{
		{current: 0}, {current: 0}, {verdict: wrongVersion, current: 0}, {current: 1}, {current: 0},
		{current: 1}, {current: 2}, {current: tombstoneRevision}, {verdict: streamDeleted},
	}, got)
	meta, err := s.meta("s", ^uint64(0))
	require.NoError(t, err)
	require.EqualValues(t, 2, meta.truncateBefore)
}

func bareWriter(t *testing.T) (*writer, *store) {
	n, err := Open(Options{Dir: "log", FS: vfs.NewMem(), Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n.writer, n.store
}

var errDisk = errors.New("the disk is broken")

// failing is a disk on which, once told to, one kind of operation on the
// write-ahead log fails.
func failing(fs vfs.FS, kinds ...errorfs.OpKind) (vfs.FS, *atomic.Bool) {
	on := &atomic.Bool{}
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !on.Load() || !strings.HasSuffix(op.Path, ".log") {
			return nil
		}
		for _, kind := range kinds {
			if op.Kind == kind {
				return errDisk
			}
		}
		return nil
	})), on
}

// After the first write or sync that fails nothing is acknowledged any more,
// Serve says why, and nothing that was acknowledged is lost.
func TestFirstFailureStopsTheNode(t *testing.T) {
	for name, kinds := range map[string][]errorfs.OpKind{
		"sync":  {errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
		"write": {errorfs.OpFileWrite},
	} {
		t.Run(name, func(t *testing.T) {
			disk := crashable()
			fs, broken := failing(disk, kinds...)
			n, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
			require.NoError(t, err)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			served := make(chan error, 1)
			go func() { served <- n.Serve(l) }()
			kept := put(t, n, "s", expectNoStream)

			broken.Store(true)
			_, err = n.writer.submit(t.Context(), &request{stream: "s", expected: 0, events: []proposed{{id: uuid.New(), kind: "T"}}})
			require.ErrorIs(t, err, errFailed)
			require.Equal(t, codes.Unavailable, status.Code(answerError(quiet, err, nil)))
			require.ErrorIs(t, <-served, errDisk)
			broken.Store(false)
			_, err = n.writer.submit(t.Context(), &request{stream: "t", expected: expectAny, events: []proposed{{id: uuid.New(), kind: "T"}}})
			require.ErrorIs(t, err, errFailed, "it does not try again")
			require.Equal(t, kept, n.tail.end(), "nothing more is shown")
			after := powerLoss(disk, 0)
			_ = n.Close()

			again, err := Open(Options{Dir: "log", FS: after, Logger: quiet})
			require.NoError(t, err)
			require.Equal(t, kept, again.tail.end())
			require.NoError(t, again.Close())
		})
	}
}

// put appends one event without a network.
func put(t *testing.T, n *Node, stream string, expected int64) (position uint64) {
	t.Helper()
	out, err := n.writer.submit(t.Context(), &request{stream: stream, expected: expected, events: []proposed{{id: uuid.New(), kind: "T"}}})
	require.NoError(t, err)
	require.Equal(t, stored, out.verdict)
	return out.position
}

// A record is not shown before it is synced, nor is an answer that rests on it.
func TestNothingIsShownBeforeItsSync(t *testing.T) {
	disk := crashable()
	hold, held := make(chan struct{}), make(chan struct{}, 16)
	var holding atomic.Bool
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if holding.Load() && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			held <- struct{}{}
			<-hold
		}
		return nil
	}))
	n, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
	require.NoError(t, err)
	end := put(t, n, "s", expectNoStream)

	holding.Store(true)
	first := &request{stream: "s", expected: 0, events: []proposed{{id: uuid.New(), kind: "T"}}, done: make(chan outcome, 1)}
	require.True(t, n.writer.enqueue(first))
	<-held
	second := &request{stream: "s", expected: 0, events: []proposed{{id: uuid.New(), kind: "T"}}, done: make(chan outcome, 1)}
	require.True(t, n.writer.enqueue(second))
	require.Equal(t, end, n.tail.end())
	v, err := n.store.view("s", n.tail.end(), 0)
	require.NoError(t, err)
	require.Zero(t, v.last)
	require.Empty(t, first.done)
	require.Empty(t, second.done)

	holding.Store(false)
	close(hold)
	require.Equal(t, stored, (<-first.done).verdict)
	require.Equal(t, wrongVersion, (<-second.done).verdict)
	require.Greater(t, n.tail.end(), end)
	require.NoError(t, n.Close())
}

// Also where Pebble gives up by itself, in the background, nothing more is
// acknowledged.
func TestPebbleGivingUpStopsTheNode(t *testing.T) {
	n, err := Open(Options{Dir: "log", FS: vfs.NewMem(), Logger: quiet})
	require.NoError(t, err)
	put(t, n, "s", expectNoStream)
	n.life.fail(errDisk)
	_, err = n.writer.submit(t.Context(), &request{stream: "s", expected: 0, events: []proposed{{id: uuid.New(), kind: "T"}}})
	require.ErrorIs(t, err, errFailed)
	require.NoError(t, n.Close(), "this one is still able to close")
}

// A disk that fails while the log is opened is an error of Open.
func TestOpenOnAFailingDisk(t *testing.T) {
	for at := range int32(40) {
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(errorfs.OnIndex(at).MaybeError))
		n, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
		if err == nil {
			require.NoError(t, n.Close())
			continue
		}
		require.NotContains(t, err.Error(), "\n")
	}
}

// A caller that gives up leaves the outcome open; a closed node takes nothing.
func TestSubmitEnds(t *testing.T) {
	n, err := Open(Options{Dir: "log", FS: vfs.NewMem(), Logger: quiet})
	require.NoError(t, err)
	require.NoError(t, n.Close())
	_, err = n.writer.submit(t.Context(), &request{stream: "s", expected: expectAny})
	require.ErrorIs(t, err, errClosed)
}

func TestRecentForgetsTheOldest(t *testing.T) {
	c := newRecent[int, string](2)
	c.put(1, "a")
	c.put(2, "b")
	c.put(3, "c")
	_, known := c.get(1) // used: it stays
	require.True(t, known)
	c.put(4, "d")
	c.put(5, "e")
	for key, want := range map[int]bool{1: true, 2: false, 4: true, 5: true} {
		_, known := c.get(key)
		require.Equal(t, want, known, "%d", key)
	}
}

// The tail never skips: it gives what follows a position, or says that it does
// not reach back so far.
func TestTailReachesBackAsFarAsItSays(t *testing.T) {
	tail := newTail(100)
	_, _, ok := tail.after(99, 10)
	require.False(t, ok)
	records, _, ok := tail.after(100, 10)
	require.True(t, ok)
	require.Empty(t, records)

	for i := range tailRecords + 50 {
		tail.publish([]record{{position: uint64(101 + i)}})
	}
	_, _, ok = tail.after(149, 10)
	require.False(t, ok)
	records, behind, ok := tail.after(150, 10)
	require.True(t, ok)
	require.Len(t, records, 10)
	require.Equal(t, tailRecords, behind)
	require.EqualValues(t, 151, records[0].position)

	tail.publish([]record{{position: 1 << 30, data: strings.Repeat("x", tailBytes)}})
	_, _, ok = tail.after(1<<29, 1)
	require.False(t, ok, "bounded by bytes too")
	require.EqualValues(t, 1<<30, tail.end())
}
