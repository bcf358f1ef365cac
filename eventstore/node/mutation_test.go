package node

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/writer"
)

// TestMutatedBytes changes every 12th byte of a small log. The node must detect the
// damage, or return the same events. It must never return a wrong event.
func TestMutatedBytes(t *testing.T) { mutateAll(t, 12*raceShare) }

func TestSoakMutatedBytes(t *testing.T) {
	soak(t)
	mutateAll(t, 1)
}

// folder holds the files of a log's folder, by name.
type folder map[string]string

// mutateAll uses the folders of a closed node and of a crashed node. For every n-th byte
// of each file, it tries two changes to the byte, and truncates the file before the byte.
func mutateAll(t *testing.T, nth int) {
	seed := logtest.Seed(t)
	closed, crashed := smallLogs(t)
	for name, f := range map[string]folder{"closed": closed, "crashed": crashed} {
		t.Run(name, func(t *testing.T) {
			want, how, err := readAllOf(f)
			require.NoError(t, err, how)
			require.Len(t, want, 24)
			rng := rand.New(rand.NewPCG(seed, 0))
			m := mutations{want: want, counts: map[string]int{}}
			for _, file := range slices.Sorted(maps.Keys(f)) {
				for at := rng.IntN(nth); at < len(f[file]); at += nth {
					m.try(t, f, file, "bit", at, with(f[file], at, 1<<rng.IntN(8)))
					m.try(t, f, file, "byte", at, with(f[file], at, byte(1+rng.IntN(255))))
					m.try(t, f, file, "cut", at, f[file][:at])
				}
			}
			if name == "closed" {
				require.Equal(t, m.tried, m.counts["refused"]+m.counts["found when read"]+m.counts["harmless"], "no loss in a closed log goes unnoticed")
			}
			t.Logf("%d mutations of %d bytes tried, 0 wrong events: %v", m.tried, sizeOfAll(f), m.counts)
		})
	}
}

// The function with() returns a copy of text in which some bits of one byte are flipped.
func with(text string, at int, bits byte) string {
	b := []byte(text)
	b[at] ^= bits
	return string(b)
}

// smallLogs returns the folders of a closed node and of a crashed node. Both
// contain the same events, some in tables and some in the write-ahead log.
func smallLogs(t *testing.T) (closed, crashed folder) {
	disk := crashable()
	n := openOn(t, disk)
	for i := range 24 {
		stream := fmt.Sprintf("s-%d", i%3)
		_, err := n.writer.Submit(t.Context(), &writer.Request{Stream: stream, Expected: writer.Any, Events: []writer.Proposed{
			{ID: uuid.New(), Type: "T", Data: fmt.Sprintf("event %d of %s", i, stream)},
		}})
		require.NoError(t, err)
		if i == 7 || i == 15 {
			require.NoError(t, n.log.Store.DB.Flush())
		}
	}
	crashed = contents(t, powerLoss(disk, 0))
	require.NoError(t, n.Close())
	return contents(t, disk), crashed
}

func contents(t *testing.T, fs vfs.FS) folder {
	names, err := fs.List("log")
	require.NoError(t, err)
	f := folder{}
	for _, name := range names {
		if name != "LOCK" {
			f[name], err = loadFile(fs, fs.PathJoin("log", name))
			require.NoError(t, err)
		}
	}
	return f
}

func sizeOfAll(f folder) (n int) {
	for _, content := range f {
		n += len(content)
	}
	return n
}

func (f folder) disk() (vfs.FS, error) {
	fs := vfs.NewMem()
	err := fs.MkdirAll("log", 0o700)
	for name, content := range f {
		if err == nil {
			err = saveFile(fs, fs.PathJoin("log", name), content)
		}
	}
	return fs, err
}

// readAllOf opens a folder and reads all its events, first from the log and then from
// each stream. If a step fails, the result how describes the outcome, such as
// "refused".
func readAllOf(f folder) (events []string, how string, err error) {
	fs, err := f.disk()
	if err != nil {
		return nil, "not written", err
	}
	n, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
	if err != nil {
		return nil, "refused", err
	}
	defer func() { _ = n.Close() }()
	for p := (storage.Page{}); !p.End; {
		if p, err = n.log.Store.LogPage(storage.Range{From: p.Next, Within: n.log.Tail.End(), Limit: storage.PageRecords}); err != nil {
			return nil, "found when read", err
		}
		for _, r := range p.Records {
			events = append(events, fmt.Sprint(r.Position, r.Stream, r.Revision, r.ID, r.Data))
		}
	}
	again, err := readStreamsOf(n)
	if err != nil {
		return nil, "found when read", err
	}
	if len(again) != len(events) {
		return nil, "found when read", fmt.Errorf("%d events in streams, %d in the log", len(again), len(events))
	}
	return events, "", nil
}

func readStreamsOf(n *Node) (events []string, err error) {
	for i := range 3 {
		stream := fmt.Sprintf("s-%d", i)
		v, err := n.log.Store.View(stream, n.log.Tail.End(), 0)
		if err != nil {
			return nil, err
		}
		p, err := n.log.Store.Page(stream, v, storage.Range{Within: n.log.Tail.End(), Limit: storage.PageRecords})
		if err != nil {
			return nil, err
		}
		for _, r := range p.Records {
			events = append(events, fmt.Sprint(r.Position, r.Stream, r.Revision, r.ID, r.Data))
		}
	}
	return events, nil
}

// The type mutations counts the outcomes of the mutations.
type mutations struct {
	want   []string
	tried  int
	counts map[string]int
}

// try changes one file. The node must reject the log, report damage, or return the
// same events. The log of a crashed node may also lack its last write, because a
// crash can tear that write. If the file was truncated, the log may lack several
// writes.
func (m *mutations) try(t *testing.T, f folder, file, kind string, at int, content string) {
	mutated := maps.Clone(f)
	mutated[file] = content
	got, how, err := readAllOf(mutated)
	switch m.tried++; {
	case err != nil:
		require.NotContains(t, err.Error(), "\n")
		m.counts[how]++
	case slices.Equal(got, m.want):
		m.counts["harmless"]++
	case len(got) < len(m.want) && slices.Equal(got, m.want[:len(got)]):
		m.counts["shortened by a "+kind]++
		if kind != "cut" {
			require.Len(t, got, len(m.want)-1, "a later write proves that this one was synced: %s at %d", file, at)
		}
	default:
		require.Fail(t, "a wrong event", "%s at %d: %v", file, at, got)
	}
}
