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

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/wire"
	"hexarena/eventstore/node/writer"
)

// Many writers append at exact revisions, each on its own connection. Each revision
// is stored once, and every read returns the acknowledged events.
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
			next := int64(writer.NoStream)
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
	t.Logf("%d appends were rejected because of their expected version", lost.Load())
}

// While many writers append to different streams, a live subscriber gets each event
// once. The events arrive in the order of the log, and so in the order of each
// stream.
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

var errDisk = errors.New("the disk is broken")

// The function failing() returns a disk and a switch. Once the switch is set, the given
// kinds of operations on the write-ahead log fail.
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

// After the first failed write or sync, the node stops acknowledging appends and Serve
// returns the cause. No acknowledged event is lost.
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
			kept := put(t, n, "s", writer.NoStream)

			broken.Store(true)
			_, err = n.writer.Submit(t.Context(), &writer.Request{Stream: "s", Expected: 0, Events: []writer.Proposed{{ID: uuid.New(), Type: "T"}}})
			require.ErrorIs(t, err, lifecycle.ErrFailed)
			require.Equal(t, codes.Unavailable, status.Code(wire.Status(t.Context(), quiet, err)))
			require.ErrorIs(t, <-served, errDisk)
			broken.Store(false)
			_, err = n.writer.Submit(t.Context(), &writer.Request{Stream: "t", Expected: writer.Any, Events: []writer.Proposed{{ID: uuid.New(), Type: "T"}}})
			require.ErrorIs(t, err, lifecycle.ErrFailed, "the node does not try again")
			require.Equal(t, kept, n.log.Tail.End(), "no more events become visible")
			after := powerLoss(disk, 0)
			_ = n.Close()

			again, err := Open(Options{Dir: "log", FS: after, Logger: quiet})
			require.NoError(t, err)
			require.Equal(t, kept, again.log.Tail.End())
			require.NoError(t, again.Close())
		})
	}
}

// put appends one event directly, without a network.
func put(t *testing.T, n *Node, stream string, expected int64) (position uint64) {
	t.Helper()
	out, err := n.writer.Submit(t.Context(), &writer.Request{Stream: stream, Expected: expected, Events: []writer.Proposed{{ID: uuid.New(), Type: "T"}}})
	require.NoError(t, err)
	require.Equal(t, writer.Stored, out.Verdict)
	return out.Position
}

// If Pebble fails in the background, the node stops acknowledging appends.
func TestPebbleFailureStopsTheNode(t *testing.T) {
	n, err := Open(Options{Dir: "log", FS: vfs.NewMem(), Logger: quiet})
	require.NoError(t, err)
	put(t, n, "s", writer.NoStream)
	n.log.Life.Fail(errDisk)
	_, err = n.writer.Submit(t.Context(), &writer.Request{Stream: "s", Expected: 0, Events: []writer.Proposed{{ID: uuid.New(), Type: "T"}}})
	require.ErrorIs(t, err, lifecycle.ErrFailed)
	require.NoError(t, n.Close(), "this log can still be closed")
}

// Open returns an error if the disk fails while the log is being opened.
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

// If a caller stops waiting, the outcome of its request is unknown. A closed node
// rejects every request.
func TestSubmitEndsWithCallerOrNode(t *testing.T) {
	n, err := Open(Options{Dir: "log", FS: vfs.NewMem(), Logger: quiet})
	require.NoError(t, err)
	require.NoError(t, n.Close())
	_, err = n.writer.Submit(t.Context(), &writer.Request{Stream: "s", Expected: writer.Any})
	require.ErrorIs(t, err, lifecycle.ErrClosed)
}
