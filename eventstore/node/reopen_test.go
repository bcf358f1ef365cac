package node

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	api "github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"hexarena/eventstore/logtest"
)

func crashable() *vfs.MemFS { return vfs.NewCrashableMem() }

// powerLoss is the disk as a crash leaves it now: what was synced, and so much
// of the rest, in percent.
func powerLoss(fs *vfs.MemFS, kept int) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(uint64(kept), 1))})
}

var quiet = slog.New(slog.DiscardHandler)

// Nothing that was acknowledged is lost by closing, nor by a crash, whatever
// part of the unsynced data it leaves.
func TestReopeningLosesNothing(t *testing.T) {
	fs := crashable()
	f := serve(t, Options{FS: fs})
	f.must("s", expectNoStream, fresh(3)...)
	f.must("soft", expectNoStream, fresh(2)...)
	f.delete("soft", expectAny)
	f.tombstone("gone", expectAny)
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
			r := f.append("gone", expectAny, fresh(1)...)
			requireDeleted(t, "gone", r.code, r.trailers)

			next := f.must("s", 2, fresh(1)...)
			require.Greater(t, next.GetPosition().GetCommitPosition(), got[len(got)-1].GetEvent().GetCommitPosition())
		})
	}
}

// lines prints messages, one a line.
func lines(messages []*api.ReadResp) string {
	var text strings.Builder
	for _, m := range messages {
		fmt.Fprintln(&text, m)
	}
	return text.String()
}

// Writers append while the power fails again and again: each event that was
// acknowledged before a crash is there after it, and revisions have no gap.
func TestCrashesUnderLoad(t *testing.T) {
	const writers, crashes = 8, 12
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
				default: // nobody waits, and the writers continue
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
				t.FailNow() // the writer has reported why
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
		v, err := n.store.view(stream, n.tail.end(), 0)
		require.NoError(t, err)
		require.GreaterOrEqual(t, v.last+1, int64(count), stream)
		for revision := range v.last + 1 {
			_, ok, err := n.store.find(stream, uint64(revision), n.tail.end())
			require.NoError(t, err)
			require.True(t, ok, "%s@%d", stream, revision)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Run("a folder that is in use", func(t *testing.T) {
		dir := t.TempDir()
		n, err := Open(Options{Dir: dir, Logger: quiet})
		require.NoError(t, err)
		_, err = Open(Options{Dir: dir, Logger: quiet})
		require.ErrorIs(t, err, ErrLocked)
		require.NotContains(t, err.Error(), "\n")
		require.NoError(t, n.Close())
		n, err = Open(Options{Dir: dir, Logger: quiet})
		require.NoError(t, err)
		require.NoError(t, n.Close())
	})
	t.Run("another format version", func(t *testing.T) {
		fs := vfs.NewMem()
		n, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
		require.NoError(t, err)
		require.NoError(t, n.store.db.Set(formatKey, []byte("99"), pebble.Sync))
		require.NoError(t, n.Close())
		_, err = Open(Options{Dir: "log", FS: fs, Logger: quiet})
		require.ErrorIs(t, err, ErrWrongFormat)
		require.ErrorContains(t, err, "version 99")
		require.NotContains(t, err.Error(), "\n")
	})
	t.Run("something else's folder", func(t *testing.T) {
		fs := vfs.NewMem()
		db, err := pebble.Open("log", &pebble.Options{FS: fs, Logger: &pebbleLog{logger: quiet}})
		require.NoError(t, err)
		require.NoError(t, db.Set([]byte("k"), nil, pebble.Sync))
		require.NoError(t, db.Close())
		_, err = Open(Options{Dir: "log", FS: fs, Logger: quiet})
		require.ErrorIs(t, err, ErrWrongFormat)
	})
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		_, err := Open(Options{Dir: path, Logger: quiet})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "\n")
	})
}

// A record that is damaged, missing or in another's place is an error, never a
// wrong event or a shorter history.
func TestDamageIsDetected(t *testing.T) {
	damages := map[string]func(t *testing.T, s *store, first, second uint64){
		"a flipped bit": func(t *testing.T, s *store, first, _ uint64) {
			value, err := s.value(logKey(first))
			require.NoError(t, err)
			value[len(value)/2] ^= 1
			require.NoError(t, s.db.Set(logKey(first), value, pebble.Sync))
		},
		"another record's place": func(t *testing.T, s *store, first, second uint64) {
			value, err := s.value(logKey(second))
			require.NoError(t, err)
			require.NoError(t, s.db.Set(logKey(first), value, pebble.Sync))
		},
		"an index entry that leads elsewhere": func(t *testing.T, s *store, first, second uint64) {
			value, err := s.value(streamKey("s", 1))
			require.NoError(t, err)
			require.NoError(t, s.db.Set(streamKey("s", 0), value, pebble.Sync))
		},
		"a record that is gone": func(t *testing.T, s *store, first, _ uint64) {
			require.NoError(t, s.db.Delete(logKey(first), pebble.Sync))
		},
		"an index entry cut short": func(t *testing.T, s *store, _, _ uint64) {
			require.NoError(t, s.db.Set(streamKey("s", 0), []byte{1}, pebble.Sync))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			f := serve(t)
			f.must("s", expectNoStream, fresh(2)...)
			p := f.positions()
			damage(t, f.node.store, p[0], p[1])
			require.Equal(t, codes.DataLoss, f.read(ofStream("s")).code)
			require.Equal(t, codes.DataLoss, f.read(ofStream("s"), down, theEnd).code)
		})
	}
}

func TestSecondCloseIsHarmless(t *testing.T) {
	n, err := Open(Options{Dir: "log", FS: vfs.NewMem(), Logger: quiet})
	require.NoError(t, err)
	require.NoError(t, n.Close())
	require.NoError(t, n.Close())
}

// Records of any shape survive encoding; any bytes that decode are a record
// that encodes to just these bytes.
func TestRecordsRoundTrip(t *testing.T) {
	for _, r := range sampleRecords() {
		encoded := r.append(nil)
		require.Len(t, encoded, r.size())
		got, err := decodeRecord(r.position, encoded)
		require.NoError(t, err)
		require.Equal(t, r, got)
		_, err = decodeRecord(r.position+1, encoded)
		require.ErrorIs(t, err, errDamaged)
		for i := range encoded {
			for bit := range 8 {
				encoded[i] ^= 1 << bit
				_, err := decodeRecord(r.position, encoded)
				require.ErrorIs(t, err, errDamaged, "byte %d, bit %d", i, bit)
				encoded[i] ^= 1 << bit
			}
			_, err := decodeRecord(r.position, encoded[:i])
			require.ErrorIs(t, err, errDamaged, "cut at %d", i)
		}
	}
}

func sampleRecords() []record {
	id := uuid.MustParse("f0e1d2c3-b4a5-9687-7869-5a4b3c2d1e0f")
	return []record{
		{position: 1, id: id, stream: "s", kind: "T"},
		{position: 1 << 60, revision: tombstoneRevision, created: 1 << 55, id: id, json: true, stream: "match-1", kind: "DiceRolled", data: `{"turn":1}`, metadata: `{}`},
		{position: 77, created: -5, id: id, stream: strings.Repeat("s", 130), kind: "é", data: strings.Repeat("d", 300), metadata: "\x00\xff"},
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, r := range sampleRecords() {
		f.Add(r.position, r.append(nil))
	}
	f.Add(uint64(1), []byte{})
	f.Add(uint64(9), make([]byte, recordHead+recordSum))
	f.Fuzz(func(t *testing.T, position uint64, value []byte) {
		if _, err := decodeRecord(position, value); err != nil {
			require.ErrorIs(t, err, errDamaged)
		}
		// With a checksum that fits, the lengths are what is left to check.
		if len(value) < recordSum {
			return
		}
		body := value[:len(value)-recordSum]
		sealed := binary.BigEndian.AppendUint32(slices.Clone(body), recordChecksum(position, body))
		r, err := decodeRecord(position, sealed)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		again, err := decodeRecord(position, r.append(nil))
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}
