package node

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"hexarena/eventstore/logtest"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/writer"
)

func crashable() *vfs.MemFS { return vfs.NewCrashableMem() }

// powerLoss returns the disk that a crash would leave behind now. The disk has all
// synced data and a part of the unsynced data. The parameter kept is the size of that
// part in percent.
func powerLoss(fs *vfs.MemFS, kept int) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(uint64(kept), 1))})
}

var quiet = slog.New(slog.DiscardHandler)

// Neither closing nor crashing the node loses an acknowledged event, no matter how much
// of the unsynced data survives the crash.
func TestReopenedLogHoldsTheSameEvents(t *testing.T) {
	fs := crashable()
	f := serve(t, Options{FS: fs})
	f.must("s", writer.NoStream, fresh(3)...)
	f.must("soft", writer.NoStream, fresh(2)...)
	f.delete("soft", writer.Any)
	f.tombstone("gone", writer.Any)
	f.setMeta("s", `{"$maxCount":2}`)
	want := f.read(ofAll).messages
	crashes := map[string]*vfs.MemFS{}
	for _, kept := range []int{0, 25, 50, 75, 100} {
		crashes[fmt.Sprintf("a crash that keeps %d%%", kept)] = powerLoss(fs, kept)
	}
	require.NoError(t, f.node.Close())
	crashes["closing"] = fs

	for name, fs := range crashes {
		t.Run(name, func(t *testing.T) {
			f := serve(t, Options{FS: fs})
			got := f.read(ofAll).messages
			logtest.RequireSameText(t, lines(want), lines(got))
			require.Equal(t, []uint64{1, 2}, f.revisions(ofStream("s")))
			require.NotNil(t, f.read(ofStream("soft")).messages[0].GetStreamNotFound())
			r := f.append("gone", writer.Any, fresh(1)...)
			requireDeleted(t, "gone", r.code, r.trailers)

			next := f.must("s", 2, fresh(1)...)
			require.Greater(t, next.GetPosition().GetCommitPosition(), got[len(got)-1].GetEvent().GetCommitPosition())
		})
	}
}

// The function lines formats messages, one per line.
func lines(messages []*api.ReadResp) string {
	var text strings.Builder
	for _, m := range messages {
		fmt.Fprintln(&text, m)
	}
	return text.String()
}

// The power fails again and again during appends. After each crash, all acknowledged
// events still exist, and the revisions have no gaps.
func TestCrashesUnderLoad(t *testing.T) {
	const writers, crashes = 8, max(4, 12/raceShare)
	fs := crashable()
	f := serve(t, Options{FS: fs})
	var mu sync.Mutex
	acknowledged := map[string]int{}
	stop := make(chan struct{})
	var running sync.WaitGroup
	progress := make(chan struct{})
	failed := make(chan struct{}, writers)
	for w := range writers {
		running.Go(func() {
			stream := fmt.Sprintf("s-%d", w)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if r := f.append(stream, int64(i)-1, fresh(1)...); r.response.GetSuccess() == nil {
					t.Errorf("append %s@%d: %v", stream, i, r)
					failed <- struct{}{}
					return
				}
				mu.Lock()
				acknowledged[stream] = i + 1
				mu.Unlock()
				select {
				case progress <- struct{}{}:
				default: // nobody is waiting for progress
				}
			}
		})
	}
	defer running.Wait()
	defer close(stop)
	for c := range crashes {
		for range 50 {
			select {
			case <-progress:
			case <-failed:
				t.FailNow() // the writer has already reported the error
			}
		}
		mu.Lock()
		before := make(map[string]int, writers)
		for stream, n := range acknowledged {
			before[stream] = n
		}
		mu.Unlock()
		lost := powerLoss(fs, c*100/crashes)
		requireStored(t, lost, before)
	}
}

func requireStored(t *testing.T, fs vfs.FS, want map[string]int) {
	t.Helper()
	n, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	for stream, count := range want {
		v, err := n.log.Store.View(stream, n.log.Tail.End(), 0)
		require.NoError(t, err)
		require.GreaterOrEqual(t, v.Last+1, int64(count), stream)
		for revision := range v.Last + 1 {
			_, ok, err := n.log.Store.Find(stream, uint64(revision), n.log.Tail.End())
			require.NoError(t, err)
			require.True(t, ok, "%s@%d", stream, revision)
		}
	}
}

func TestOpenRejects(t *testing.T) {
	t.Run("a folder that is in use", func(t *testing.T) {
		dir := t.TempDir()
		n, err := Open(Options{Dir: dir, Logger: quiet})
		require.NoError(t, err)
		_, err = Open(Options{Dir: dir, Logger: quiet})
		require.ErrorIs(t, err, storage.ErrLocked)
		require.NotContains(t, err.Error(), "\n")
		require.NoError(t, n.Close())
		n, err = Open(Options{Dir: dir, Logger: quiet})
		require.NoError(t, err)
		require.NoError(t, n.Close())
	})
	t.Run("another format version", func(t *testing.T) {
		fs := vfs.NewMem()
		require.NoError(t, openOn(t, fs).Close())
		editLog(t, fs, func(l rawLog) { l.set(keyOfFormat, []byte("99")) })
		_, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
		require.ErrorIs(t, err, storage.ErrWrongFormat)
		require.ErrorContains(t, err, "version 99")
		require.NotContains(t, err.Error(), "\n")
	})
	t.Run("a folder of another program", func(t *testing.T) {
		fs := vfs.NewMem()
		db, err := pebble.Open("log", &pebble.Options{FS: fs, Logger: silent{t}})
		require.NoError(t, err)
		require.NoError(t, db.Set([]byte("k"), nil, pebble.Sync))
		require.NoError(t, db.Close())
		_, err = Open(Options{Dir: "log", FS: fs, Logger: quiet})
		require.ErrorIs(t, err, storage.ErrWrongFormat)
	})
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		_, err := Open(Options{Dir: path, Logger: quiet})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "\n")
	})
}

// If a record is damaged, missing or in the wrong place, a read returns an error.
// It never returns a wrong event or a shorter history.
func TestDamageIsDetected(t *testing.T) {
	damages := map[string]func(l rawLog){
		"a flipped bit": func(l rawLog) {
			l.change(keyOfRecord(l.position("s", 0)), func(v []byte) []byte { v[len(v)/2] ^= 1; return v })
		},
		"a record in the place of another": func(l rawLog) {
			l.set(keyOfRecord(l.position("s", 0)), l.value(keyOfRecord(l.position("s", 1))))
		},
		"an index entry with a wrong position": func(l rawLog) {
			l.set(keyOfEntry("s", 0), l.value(keyOfEntry("s", 1)))
		},
		"a missing record":        func(l rawLog) { l.delete(keyOfRecord(l.position("s", 0))) },
		"a truncated index entry": func(l rawLog) { l.set(keyOfEntry("s", 0), []byte{1}) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			f := serve(t, Options{FS: fs})
			f.must("s", writer.NoStream, fresh(2)...)
			for range 9 { // so that the damaged records are not among those that Open reads
				f.must("later", writer.Any, fresh(1000)...)
			}
			require.NoError(t, f.node.Close())
			editLog(t, fs, damage)
			f = serve(t, Options{FS: fs})
			require.Equal(t, codes.DataLoss, f.read(ofStream("s")).code)
			require.Equal(t, codes.DataLoss, f.read(ofStream("s"), down, theEnd).code)
		})
	}
}

func TestSecondCloseDoesNothing(t *testing.T) {
	n, err := Open(Options{Dir: "log", FS: vfs.NewMem(), Logger: quiet})
	require.NoError(t, err)
	require.NoError(t, n.Close())
	require.NoError(t, n.Close())
}
