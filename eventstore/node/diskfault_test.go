package node

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/writer"
)

// breakage is one way in which a disk fails.
type breakage struct {
	name  string
	err   error
	stays bool // whether every later change fails too
	kinds func(errorfs.Op) bool
}

func isSync(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
}

func isChange(op errorfs.Op) bool {
	return op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose && op.Kind != errorfs.OpFilePreallocate
}

// TestFailingDisk makes the n-th change or sync fail, for every n. In some runs only
// that operation fails, and in others all later operations fail too. After the failure,
// the node must not acknowledge anything and must not sync again, but it may serve
// reads. The log must open again without repair.
func TestFailingDisk(t *testing.T) {
	if apart(t) {
		return
	}
	for _, b := range []breakage{
		{"the disk is full from the n-th change on", syscall.ENOSPC, true, isChange},
		{"the n-th change fails", syscall.EIO, false, isChange},
		{"the n-th sync fails", syscall.EIO, false, isSync},
		{"every sync fails from the n-th on", syscall.EIO, true, isSync},
	} {
		t.Run(b.name, b.tryAll)
	}
}

// For every n, tryAll makes the n-th operation fail in a separate run. Under the race
// detector, it does so only for some n.
func (b breakage) tryAll(t *testing.T) {
	total := b.count(t) / raceShare
	var mu sync.Mutex
	var all faults
	limit := make(chan struct{}, 48) // run many in parallel, because a run that hangs takes a long time
	var running sync.WaitGroup
	for nth := range total {
		limit <- struct{}{}
		running.Go(func() {
			defer func() { <-limit }()
			f := b.try(t, int64(nth*raceShare+1))
			mu.Lock()
			defer mu.Unlock()
			all.add(f)
		})
	}
	running.Wait()
	require.Equal(t, total, all.failures)
	t.Logf("%d failures tried: %d stopped the node, in %d no append failed; %d events acknowledged, 0 after the failure stopped it, 0 lost",
		all.failures, all.stopped, all.failures-all.stopped, all.acknowledged)
}

type faults struct{ failures, stopped, acknowledged int }

func (f *faults) add(other faults) {
	f.failures += other.failures
	f.stopped += other.stopped
	f.acknowledged += other.acknowledged
}

// count returns the number of disk operations that the appends need.
func (b breakage) count(t *testing.T) int {
	disk := &faultyDisk{breakage: b, MemFS: crashable()}
	n := openOn(t, disk.fs())
	disk.on.Store(true)
	appended, err := appendSome(t, n, disk)
	require.NoError(t, err)
	require.Equal(t, someAppends, appended)
	disk.on.Store(false)
	require.NoError(t, n.Close())
	return int(disk.seen.Load())
}

// faultyDisk makes the n-th operation fail. It counts only the operations that happen
// while its field "on" is true.
type faultyDisk struct {
	*vfs.MemFS
	breakage
	nth    int64
	on     atomic.Bool
	seen   atomic.Int64
	failed atomic.Bool
	path   atomic.Value // path of the file that failed first
	after  atomic.Int64 // the number of syncs of that file after the failure
}

func (d *faultyDisk) fs() vfs.FS {
	return errorfs.Wrap(d.MemFS, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !d.on.Load() || !d.kinds(op) {
			return nil
		}
		seen := d.seen.Add(1)
		if path, ok := d.path.Load().(string); ok && path == op.Path && isSync(op) {
			d.after.Add(1)
		}
		if seen == d.nth || d.stays && d.nth > 0 && seen > d.nth {
			if !d.failed.Swap(true) {
				d.path.Store(op.Path)
			}
			return d.err
		}
		return nil
	}))
}

// someAppends is a number of appends during which Pebble switches to a new write-ahead
// log.
const someAppends = 24

// padding is much shorter than a block of the write-ahead log. When Pebble reads a torn
// chunk of n bytes, it looks for a flipped bit, which takes n² steps.
var padding = strings.Repeat("0123456789abcdef", 20<<10/16)

// appendSome alternates between appends to two streams and stops at the first failure.
// Pebble's background writes happen at varying times, so if the disk has not failed
// yet, appendSome continues for up to four times as many appends.
func appendSome(t *testing.T, n *Node, disk *faultyDisk) (acknowledged int, err error) {
	late := func() bool { return disk.nth > 0 && !disk.failed.Load() }
	for i := 0; i < someAppends || i < 4*someAppends && late(); i++ {
		r := appendAt(0, fmt.Sprintf("s-%d", i%2), i/2)
		r.Events = r.Events[:1]
		r.Events[0].Data = padding
		out, err := n.writer.Submit(t.Context(), r)
		if err != nil {
			return acknowledged, err
		}
		if out.Verdict != writer.Stored || out.Current != int64(i/2) {
			return acknowledged, fmt.Errorf("append %d: %v", i, out)
		}
		acknowledged++
	}
	return acknowledged, nil
}

// try fails one operation.
func (b breakage) try(t *testing.T, nth int64) faults {
	disk := &faultyDisk{breakage: b, MemFS: crashable(), nth: nth}
	n, err := Open(Options{Dir: "log", FS: disk.fs(), Logger: quiet})
	if err != nil {
		t.Errorf("%d: open: %v", nth, err)
		return faults{}
	}
	disk.on.Store(true)
	f := faults{}
	f.acknowledged, err = appendSome(t, n, disk)
	if disk.failed.Load() {
		f.failures = 1
	}
	if err != nil {
		f.stopped = 1
		b.stopped(t, nth, n, disk, f.acknowledged, err)
	}
	disk.on.Store(false)
	b.recovered(t, nth, powerLoss(disk.MemFS, int(nth)%3*50), f.acknowledged)
	_ = n.Close() // may fail for a broken log; recovered checks the remaining files
	b.recovered(t, nth, powerLoss(disk.MemFS, 100), f.acknowledged)
	return f
}

// The method stopped() checks a node that has failed. The node must not acknowledge any
// more appends, and must still return the acknowledged events.
func (b breakage) stopped(t *testing.T, nth int64, n *Node, disk *faultyDisk, acknowledged int, err error) {
	if !errors.Is(err, lifecycle.ErrFailed) {
		t.Errorf("%d: %v", nth, err)
	}
	<-n.log.Life.Failed()
	if !strings.Contains(n.log.Life.Cause().Error(), b.err.Error()) {
		t.Errorf("%d: the node stopped because of %v", nth, n.log.Life.Cause())
	}
	if out, err := n.writer.Submit(t.Context(), appendAt(1, "later", 0)); err == nil {
		t.Errorf("%d: acknowledged after the failure: %v", nth, out)
	}
	if disk.after.Load() > 0 && !b.stays {
		t.Errorf("%d: %v was synced again, %d times, after it had failed", nth, disk.path.Load(), disk.after.Load())
	}
	read, p := 0, storage.Page{}
	for err = nil; err == nil && !p.End; read += len(p.Records) {
		p, err = n.log.Store.LogPage(storage.Range{From: p.Next, Within: n.log.Tail.End(), Limit: storage.PageRecords})
	}
	if err != nil || read < acknowledged {
		t.Errorf("%d: can read %d events of %d acknowledged: %v", nth, read, acknowledged, err)
	}
}

// The method recovered() opens the log on a disk that works again and checks that no
// acknowledged event is lost.
func (b breakage) recovered(t *testing.T, nth int64, fs *vfs.MemFS, acknowledged int) {
	n, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
	if err != nil {
		t.Errorf("%d: open after the failure: %v", nth, err)
		return
	}
	for i := range acknowledged {
		r, ok, err := n.log.Store.Find(fmt.Sprintf("s-%d", i%2), uint64(i/2), n.log.Tail.End())
		if err != nil || !ok || r.ID != idAt(0, r.Stream, i/2) {
			t.Errorf("%d: event %d is lost: %v, %v", nth, i, r, err)
		}
	}
	if out, err := n.writer.Submit(t.Context(), appendAt(0, "new", 0)); err != nil || out.Verdict != writer.Stored {
		t.Errorf("%d: append after the failure: %v, %v", nth, out, err)
	}
	if err := n.Close(); err != nil {
		t.Errorf("%d: close after the failure: %v", nth, err)
	}
	if found, err := storage.Check(t.Context(), "log", fs, nil); err != nil || found.Damages > 0 {
		t.Errorf("%d: %v, %v", nth, found, err)
	}
}
