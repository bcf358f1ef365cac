package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/writer"
)

// The function holding() returns the files in a folder that contain the given text.
func holding(t *testing.T, fs vfs.FS, dir, text string) (files []string) {
	t.Helper()
	names, err := fs.List(dir)
	require.NoError(t, err)
	for _, name := range names {
		content, err := loadFile(fs, fs.PathJoin(dir, name))
		if errors.Is(err, os.ErrNotExist) { // it was just removed
			continue
		}
		require.NoError(t, err)
		if strings.Contains(content, text) {
			files = append(files, name)
		}
	}
	return files
}

// The function addressed() returns event data with a unique email address, and the name
// in that address. The name cannot be compressed, so a search finds it in every file
// that contains the event.
func addressed(i int) (name, data string) {
	sum := sha256.Sum256([]byte{byte(i)})
	name = string(sum[:])
	return name, name + "@example.org"
}

// The method padding() makes the write-ahead log switch files a few times, so that Pebble
// keeps some of them for reuse.
func (f *fixture) padding(stream string) {
	f.t.Helper()
	for range 6 {
		var pad []byte
		for len(pad) < 500_000 {
			pad = append(pad, uuid.NewString()...)
		}
		f.must(stream, writer.Any, wireEvent("Padded", uuid.New(), string(pad)))
	}
}

func mustCheck(t *testing.T, fs vfs.FS) storage.Checked {
	t.Helper()
	found, err := storage.Check(t.Context(), "log", fs, nil)
	require.NoError(t, err)
	require.Empty(t, found.Named)
	return found
}

// After a scavenge, no file contains events that metadata or tombstones hide. The other
// events keep their revisions, and new events continue the numbering.
func TestScavengeRemovesHiddenEvents(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var clock atomic.Int64 // seconds since now
	tests := []struct {
		stream string
		hide   func(f *fixture)
		left   []uint64 // which revisions of the 5 events remain; nil if the stream cannot be read
	}{
		{"whole", func(*fixture) {}, []uint64{0, 1, 2, 3, 4}},
		{"counted", func(f *fixture) { f.setMeta("counted", `{"$maxCount":2}`) }, []uint64{3, 4}},
		{"truncated", func(f *fixture) { f.setMeta("truncated", `{"$tb":4}`) }, []uint64{4}},
		{"cut-off", func(f *fixture) { f.setMeta("cut-off", `{"$tb":5}`) }, []uint64{}},
		{"aged", func(f *fixture) { f.setMeta("aged", `{"$maxAge":60}`) }, []uint64{}},
		{"soft", func(f *fixture) { require.Equal(f.t, codes.OK, f.delete("soft", writer.Any).code) }, nil},
		{"gone", func(f *fixture) { require.Equal(f.t, codes.OK, f.tombstone("gone", writer.Any).code) }, nil},
	}
	fs := vfs.NewMem()
	o := Options{FS: fs, Now: func() time.Time { return now.Add(time.Duration(clock.Load()) * time.Second) }}
	f := serve(t, o)
	addresses := map[string][]string{}
	for i := range 5 {
		for j, test := range tests {
			address, data := addressed(10*j + i)
			addresses[test.stream] = append(addresses[test.stream], address)
			f.must(test.stream, int64(i)-1, wireEvent("AddressSet", uuid.New(), data))
		}
		f.padding("pad")
	}
	for _, test := range tests {
		test.hide(f)
	}
	f.setMeta("pad", `{"$tb":30}`)
	require.NoError(t, f.node.log.Store.DB.Flush())
	oldName, oldMeta := addressed(200)
	f.setMeta("whole", oldMeta)
	newName, newMeta := addressed(201)
	f.setMeta("whole", newMeta)
	last, err := f.node.log.Store.End()
	require.NoError(t, err)
	clock.Store(3600)
	before := map[string][]uint64{}
	for _, test := range tests {
		for _, address := range addresses[test.stream] {
			require.NotEmpty(t, holding(t, fs, "log", address), "the search finds every address before the scavenge")
		}
		if test.left != nil {
			before[test.stream] = f.revisions(ofStream(test.stream))
			require.Equal(t, test.left, before[test.stream])
		}
	}

	var steps []string
	done, err := f.node.Scavenge(t.Context(), func(step string, _, _ uint64) { steps = append(steps, step) })
	require.NoError(t, err)
	require.EqualValues(t, 3+4+5+5+5+5+30+1, done.Events) // and the first $$whole
	require.EqualValues(t, 8, done.Streams)
	require.Equal(t, []string{"removing events", "rewriting files"}, slices.Compact(steps))

	gone := 0
	requireGone := func(f *fixture) {
		for _, test := range tests {
			for i, address := range addresses[test.stream] {
				files := holding(t, fs, "log", address)
				if slices.Contains(test.left, uint64(i)) {
					require.NotEmpty(t, files, address)
					continue
				}
				require.Empty(t, files, "%s@%d", test.stream, i)
				gone++
			}
			if test.left != nil {
				require.Equal(t, test.left, f.revisions(ofStream(test.stream)))
				down := f.revisions(ofStream(test.stream), theEnd, down)
				slices.Reverse(down)
				require.Equal(t, test.left, down)
			}
		}
		require.Empty(t, holding(t, fs, "log", oldName))
		require.NotEmpty(t, holding(t, fs, "log", newName))
		require.NotNil(t, f.read(ofStream("soft")).messages[0].GetStreamNotFound())
		require.Equal(t, codes.FailedPrecondition, f.read(ofStream("gone")).code)
		for i, e := range f.events(ofAll) {
			require.NotContains(t, string(e.GetEvent().GetStreamIdentifier().GetStreamName()), "$$gone")
			require.NotEmpty(t, e.GetEvent().GetStreamIdentifier().GetStreamName(), i)
		}
	}
	requireGone(f)
	require.NoError(t, f.node.Close())
	found := mustCheck(t, fs)
	require.Equal(t, "2", found.Format)
	require.EqualValues(t, 8, found.Scavenged)

	f = serve(t, o)
	requireGone(f)
	for _, test := range tests {
		if test.stream == "gone" {
			r := f.append("gone", writer.Any, fresh(1)...)
			requireDeleted(t, "gone", r.code, r.trailers)
			continue
		}
		next := f.must(test.stream, 4, fresh(1)...)
		require.EqualValues(t, 5, next.GetCurrentRevision(), test.stream)
		require.GreaterOrEqual(t, next.GetPosition().GetCommitPosition(), last.Next, "no position is used twice")
	}
	require.Equal(t, []uint64{5}, f.revisions(ofStream("soft")))
	require.NoError(t, f.node.Close())
	mustCheck(t, fs)
	t.Logf("%d events were scavenged; none of the %d addresses in them is in any file after two searches", done.Events, gone/2)
}

// A scavenge may remove the last records of the log. The next append continues after
// them.
func TestScavengeRemovesTheEndOfTheLog(t *testing.T) {
	fs := vfs.NewMem()
	f := serve(t, Options{FS: fs})
	f.must("kept", writer.NoStream, fresh(2)...)
	f.setMeta("s", `{"$tb":9}`)
	f.must("s", writer.NoStream, fresh(3)...)
	all := f.positions()
	for round := range 3 { // first in one process, and then after the log is reopened
		done, err := f.node.Scavenge(t.Context(), nil)
		require.NoError(t, err)
		require.EqualValues(t, []int{3, 0, 0}[round], done.Events)
		if round == 1 {
			require.NoError(t, f.node.Close())
			mustCheck(t, fs)
			f = serve(t, Options{FS: fs})
		}
		require.Equal(t, all[:3], f.positions())
		require.Equal(t, all[5], f.node.log.Tail.End())
		require.Empty(t, f.events(ofAll, atPosition(all[5], all[5])), "the position of a removed event is still valid")
		s := f.subscribe(ofAll, atPosition(all[4], all[4])).confirmed()
		s.caughtUp()
	}
	next := f.must("s", 2, fresh(1)...).GetPosition().GetCommitPosition()
	require.Greater(t, next, all[5])
	require.NoError(t, f.node.Close())
	mustCheck(t, fs)
}

// Reads of $all and subscriptions to it can continue from the position of a removed
// event. The node still rejects positions that never belonged to an event.
func TestReadsFromScavengedPositions(t *testing.T) {
	f := serve(t)
	f.must("kept", writer.NoStream, fresh(1)...)
	f.must("s", writer.NoStream, fresh(3)...)
	f.must("kept", 0, fresh(1)...)
	f.setMeta("s", `{"$tb":3}`)
	all := f.positions()
	_, err := f.node.Scavenge(t.Context(), nil)
	require.NoError(t, err)
	left := []uint64{all[0], all[4], all[5]}
	require.Equal(t, left, f.positions())
	for _, gone := range all[1:4] {
		require.Equal(t, left[1:], f.positions(atPosition(gone, gone)))
		require.Equal(t, left[:1], f.positions(atPosition(gone, gone), down))
		s := f.subscribe(ofAll, atPosition(gone, gone)).confirmed()
		require.Equal(t, all[4], s.event().GetCommitPosition())
		require.Equal(t, all[5], s.event().GetCommitPosition())
		s.caughtUp()
		f.subscribe(ofStream("s"), fromRevision(1)).confirmed().caughtUp()
	}
	for _, never := range []uint64{all[0] + 1, all[1] - 1, all[4] + 1, all[5] - 1} {
		require.Equal(t, codes.InvalidArgument, f.read(ofAll, atPosition(never, never)).code, never)
	}
}

// Appends, reads and subscriptions continue during many scavenges. Reads have gaps only
// where events are hidden.
func TestScavengeDuringAppendsAndReads(t *testing.T) {
	const events = 400
	fs := vfs.NewMem()
	f := serve(t, Options{FS: fs})
	f.setMeta("short", `{"$maxCount":3}`)
	live := f.subscribe(ofStream("kept")).confirmed()
	ctx, stop := context.WithCancel(f.ctx)
	defer stop()
	scavenged := make(chan storage.Scavenged, 1)
	go func() {
		var all storage.Scavenged
		for ctx.Err() == nil {
			done, err := f.node.Scavenge(f.ctx, nil)
			if err != nil {
				t.Error(err)
			}
			all.Events += done.Events
		}
		scavenged <- all
	}()
	reading := make(chan int, 1)
	go func() {
		reads := 0
		for ; ctx.Err() == nil; reads++ {
			for _, asked := range [][]asking{{ofStream("short")}, {ofStream("short"), theEnd, down}, {ofAll}, {ofStream("$$short")}} {
				if code := f.read(asked...).code; code != codes.OK {
					t.Errorf("read: %v", code)
					stop()
				}
			}
		}
		reading <- reads
	}()
	for i := range events {
		f.must("short", int64(i)-1, fresh(1)...)
		f.must("kept", int64(i)-1, fresh(1)...)
		if i%10 == 0 {
			f.setMeta("short", `{"$maxCount":3}`)
		}
	}
	for i := range events {
		e := live.next()
		for e.GetEvent() == nil {
			e = live.next()
		}
		require.EqualValues(t, i, e.GetEvent().GetEvent().GetStreamRevision())
	}
	stop()
	require.Equal(t, []uint64{events - 3, events - 2, events - 1}, f.revisions(ofStream("short")))
	require.Len(t, f.revisions(ofStream("kept")), events)
	t.Logf("%d events scavenged during %d appends and %d rounds of reads", (<-scavenged).Events, 2*events, <-reading)
	require.NoError(t, f.node.Close())
	mustCheck(t, fs)
}

// Even if the power fails at any sync of a scavenge, the log has no damage, and the
// next scavenge continues the work.
func TestScavengeAndPowerLoss(t *testing.T) {
	disk := crashable()
	n := openOn(t, disk)
	for i := range 50 {
		put(t, n, "s", int64(i)-1)
		put(t, n, "kept", int64(i)-1)
	}
	_, err := n.writer.Submit(t.Context(), &writer.Request{Act: writer.Tombstone, Stream: "s", Expected: writer.Any})
	require.NoError(t, err)
	require.NoError(t, n.Close())

	var mu sync.Mutex
	var states []*vfs.MemFS
	spied := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, powerLoss(disk, 25*(len(states)%5)))
		}
		return nil
	}))
	tried := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(states)
	}
	n = openOn(t, spied)
	begun := tried()
	_, err = n.Scavenge(t.Context(), nil)
	require.NoError(t, err)
	ended := tried()
	require.NoError(t, n.Close())
	require.Greater(t, ended, begun)

	for i, fs := range states[begun:ended] {
		n := openOn(t, fs)
		v, err := n.log.Store.View("kept", n.log.Tail.End(), 0)
		require.NoError(t, err)
		p, err := n.log.Store.Page("kept", v, storage.Range{Within: n.log.Tail.End(), Limit: math.MaxInt})
		require.NoError(t, err)
		require.Len(t, p.Records, 50, "state %d", i)
		_, err = n.Scavenge(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, n.Close())
		require.EqualValues(t, 51, mustCheck(t, fs).Events, "state %d", i)
	}
	t.Logf("%d crash states tried in a scavenge, 50 events kept, 0 lost; each was scavenged to the end afterwards", ended-begun)
}

func openOn(t *testing.T, fs vfs.FS) *Node {
	t.Helper()
	n, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
	require.NoError(t, err)
	return n
}

// Only one scavenge or backup runs at a time. It ends when its caller gives up or
// the node closes.
func TestScavengeEndsWithCallerOrNode(t *testing.T) {
	f := serve(t)
	f.must("s", writer.NoStream, fresh(3)...)
	f.setMeta("s", `{"$tb":2}`)
	require.True(t, f.node.maintenance.TryLock())
	_, err := f.node.Scavenge(t.Context(), nil)
	require.ErrorIs(t, err, ErrBusy)
	_, err = f.node.Backup(t.Context(), "copy")
	require.ErrorIs(t, err, ErrBusy)
	f.node.maintenance.Unlock()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.node.Scavenge(ctx, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, f.node.Close())
	_, err = f.node.Scavenge(t.Context(), nil)
	require.ErrorIs(t, err, lifecycle.ErrClosed)
}

// If an index entry points to another stream's record, a scavenge stops without
// removing anything.
func TestScavengeStopsAtDamage(t *testing.T) {
	fs := vfs.NewMem()
	f := serve(t, Options{FS: fs})
	f.must("s", writer.NoStream, fresh(2)...)
	f.must("t", writer.NoStream, fresh(1)...)
	f.setMeta("s", `{"$tb":2}`)
	require.NoError(t, f.node.Close())
	editLog(t, fs, func(l rawLog) { l.set(keyOfEntry("s", 1), l.value(keyOfEntry("t", 0))) })
	f = serve(t, Options{FS: fs})
	before := f.positions()
	_, err := f.node.Scavenge(t.Context(), nil)
	require.ErrorIs(t, err, record.ErrDamaged)
	require.Equal(t, before, f.positions())
}
