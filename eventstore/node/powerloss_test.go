package node

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/writer"
)

// soak skips a long test unless `make soak` is running.
func soak(t *testing.T) {
	t.Helper()
	if os.Getenv("ARENA_SOAK") == "" {
		t.Skip("takes minutes: run make soak")
	}
}

// TestPowerLoss cuts the power between changes to the disk and keeps between 0% and
// 100% of the unsynced data. No acknowledged event may be lost.
func TestPowerLoss(t *testing.T) { losePower(t, max(3, 12/raceShare)) }

func TestSoakPowerLoss(t *testing.T) {
	soak(t)
	losePower(t, 250)
}

// losePower tests crash states of several logs.
func losePower(t *testing.T, logs int) {
	seed := logtest.Seed(t)
	var seen survey
	for i := range logs {
		seen.add(losePowerOften(t, seed+uint64(i), int64(1+i%3)))
	}
	t.Logf("%d crash states tried, %d events acknowledged, 0 lost, 0 stored twice; %d retries after a crash recognized, %d appends in progress at the crash stored once",
		seen.states, seen.acknowledged, seen.retries, seen.underway)
}

// These are the numbers of writers and of crash states for each log.
const (
	powerWriters = 8
	powerStates  = 40
)

// losePowerOften lets writers append events until it has tested enough crash states. It
// captures the state of the disk just before every n-th change.
func losePowerOften(t *testing.T, seed uint64, nth int64) (seen survey) {
	disk := crashable()
	load := newLoad()
	crashed := make(chan crashState, 2)
	var changes atomic.Int64
	load.stop.Store(true)
	n := openOn(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose && changes.Add(1)%nth == 0 {
			load.crash(disk, seed, crashed)
		}
		return nil
	})))
	load.stop.Store(false)
	var running sync.WaitGroup
	for w := range powerWriters {
		running.Go(func() { load.write(t, n, fmt.Sprintf("s-%d", w), seed) })
	}
	running.Go(func() { load.flush(n) })
	defer func() {
		load.stop.Store(true)
		go func() {
			for range crashed { // let pending crash states through
			}
		}()
		running.Wait()
		require.NoError(t, n.Close())
		close(crashed)
		seen.acknowledged = load.total()
	}()
	for range powerStates {
		select {
		case c := <-crashed:
			seen.add(requireSurvived(t, c, seed))
		case <-load.failed:
			t.FailNow() // the writer has already reported the error
		}
	}
	return seen
}

// The type load records what the writers have done. It is safe for concurrent use.
type load struct {
	stop         atomic.Bool
	mu           sync.Mutex
	acknowledged map[string]int // events, by stream
	progress     atomic.Int64
	crashes      atomic.Uint64

	once   sync.Once
	failed chan struct{} // closed when a writer has failed
}

func newLoad() *load {
	return &load{acknowledged: make(map[string]int), failed: make(chan struct{})}
}

// idAt returns the id of an event. The id depends only on the arguments, so a retry
// after a crash sends the same ids.
func idAt(seed uint64, stream string, revision int) uuid.UUID {
	return uuid.NewSHA1(uuid.Nil, fmt.Appendf(binary.BigEndian.AppendUint64(nil, seed), "%s@%d", stream, revision))
}

// appendAt returns the append that begins at a revision. It has one to three events.
func appendAt(seed uint64, stream string, revision int) *writer.Request {
	r := &writer.Request{Stream: stream, Expected: int64(revision) - 1}
	for i := range 1 + int(idAt(seed, stream, revision)[0])%3 {
		id := idAt(seed, stream, revision+i)
		r.Events = append(r.Events, writer.Proposed{ID: id, Type: "T", Data: id.String(), Metadata: string(make([]byte, 200))})
	}
	return r
}

func (l *load) write(t *testing.T, n *Node, stream string, seed uint64) {
	for revision := 0; !l.stop.Load(); {
		r := appendAt(seed, stream, revision)
		revision += len(r.Events)
		out, err := n.writer.Submit(t.Context(), r)
		if err != nil || out.Verdict != writer.Stored || out.Current != int64(revision)-1 {
			t.Errorf("append %s@%d: %v, %v", stream, revision, out, err)
			l.once.Do(func() { close(l.failed) })
			return
		}
		l.mu.Lock()
		l.acknowledged[stream] = revision
		l.mu.Unlock()
		l.progress.Add(1)
	}
}

// flush makes Pebble write and compact tables until the writers stop.
func (l *load) flush(n *Node) {
	for last := int64(0); !l.stop.Load(); {
		if now := l.progress.Load(); now-last > 100 {
			last = now
			_ = n.log.Store.DB.Flush() // a failure stops the node
		}
		<-time.After(time.Millisecond)
	}
}

func (l *load) total() (events int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, count := range l.acknowledged {
		events += count
	}
	return events
}

// crashState is a disk after a crash, with the events that were acknowledged before the
// crash.
type crashState struct {
	fs           *vfs.MemFS
	acknowledged map[string]int
}

func (l *load) crash(disk *vfs.MemFS, seed uint64, to chan<- crashState) {
	if l.stop.Load() {
		return
	}
	l.mu.Lock()
	c := crashState{acknowledged: maps.Clone(l.acknowledged)}
	l.mu.Unlock()
	rng := rand.New(rand.NewPCG(seed, l.crashes.Add(1)))
	c.fs = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 0, 25, 50, 75, 100}[rng.IntN(6)], RNG: rng})
	to <- c
}

// survey counts the crash states.
type survey struct{ states, acknowledged, retries, underway int }

func (s *survey) add(other survey) {
	s.states += other.states
	s.acknowledged += other.acknowledged
	s.retries += other.retries
	s.underway += other.underway
}

// requireSurvived opens a log after a crash. Each stream must contain complete
// appends without gaps, including all acknowledged ones. The node must
// recognize a retry of the last append, and store the next append once.
func requireSurvived(t *testing.T, c crashState, seed uint64) survey {
	s := survey{states: 1}
	n, err := Open(Options{Dir: "log", FS: c.fs, Logger: quiet})
	require.NoError(t, err)
	requireWhole(t, n, c.acknowledged, seed)
	for w := range powerWriters {
		stream := fmt.Sprintf("s-%d", w)
		last, _, err := n.log.Store.Last(stream, n.log.Tail.End())
		require.NoError(t, err)
		require.GreaterOrEqual(t, int(last)+1, c.acknowledged[stream], "acknowledged events of %s are lost", stream)
		revision, retried := 0, 0
		for revision <= int(last) {
			retried, revision = revision, revision+len(appendAt(seed, stream, revision).Events)
		}
		require.Equal(t, int(last)+1, revision, "an append to %s was torn", stream)
		for _, from := range []int{retried, revision, revision} {
			r := appendAt(seed, stream, from)
			if from == retried && from%2 == 0 {
				r.Expected = writer.Any
			}
			last := from + len(r.Events) - 1
			out, err := n.writer.Submit(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, writer.Stored, out.Verdict)
			require.EqualValues(t, last, out.Current, "the append to %s must be stored once", stream)
		}
		s.retries++
		if revision > c.acknowledged[stream] {
			s.underway++
		}
	}
	require.NoError(t, n.Close())
	mustCheck(t, c.fs)
	return s
}

// requireWhole reads the whole log. Every event must occur once, at the right
// revision.
func requireWhole(t *testing.T, n *Node, acknowledged map[string]int, seed uint64) {
	next := map[string]int{}
	p := storage.Page{}
	for !p.End {
		var err error
		p, err = n.log.Store.LogPage(storage.Range{From: p.Next, Within: n.log.Tail.End(), Limit: storage.PageRecords})
		require.NoError(t, err)
		for _, r := range p.Records {
			require.EqualValues(t, next[r.Stream], r.Revision)
			require.Equal(t, idAt(seed, r.Stream, next[r.Stream]), r.ID)
			require.Equal(t, r.ID.String(), r.Data)
			next[r.Stream]++
		}
	}
	for stream, count := range acknowledged {
		require.GreaterOrEqual(t, next[stream], count, "acknowledged events of %s are lost", stream)
	}
}
