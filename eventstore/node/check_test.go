package node

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/writer"
)

// someLog creates a log with streams of every kind.
func someLog(t *testing.T, fs vfs.FS) {
	t.Helper()
	f := serve(t, Options{FS: fs})
	f.must("s", writer.NoStream, fresh(3)...)
	f.must("short", writer.NoStream, fresh(3)...)
	f.setMeta("short", `{"$maxCount":2}`)
	f.setMeta("odd", `{"$maxCount":"two"}`)
	f.must("gone", writer.NoStream, fresh(2)...)
	f.tombstone("gone", writer.Any)
	require.NoError(t, f.node.Close())
}

func TestCheckAcceptsAnUndamagedLog(t *testing.T) {
	fs := vfs.NewMem()
	someLog(t, fs)
	before := contents(t, fs)
	var steps []string
	found, err := storage.Check(t.Context(), "log", fs, func(step string, _, _ uint64) { steps = append(steps, step) })
	require.NoError(t, err)
	require.NotZero(t, found.Bytes)
	found.Bytes = 0
	require.Equal(t, storage.Checked{Format: "1", Sealed: true, Events: 11, Streams: 3, Tombstones: 1, Unread: 1}, found)
	require.Equal(t, []string{"checking files", "reading records", "reading the index"}, slices.Compact(steps))
	logtest.RequireSameFiles(t, before, contents(t, fs)) // the check writes nothing
}

// A node that serves read-only clients stores a secret in its log's store. The check
// accepts the secret and does not change it.
func TestCheckAcceptsAReadOnlyNode(t *testing.T) {
	fs := vfs.NewMem()
	f := serve(t, Options{FS: fs})
	f.must("s", writer.NoStream, fresh(1)...)
	require.Len(t, f.readOnly().events(ofStream("s")), 1)
	secret, err := f.node.log.Store.Secret()
	require.NoError(t, err)
	require.Len(t, secret, 32)
	require.NoError(t, f.node.Close())
	require.Zero(t, mustCheck(t, fs).Damages)
	again := openOn(t, fs)
	stored, err := again.log.Store.Secret()
	require.NoError(t, err)
	require.Equal(t, secret, stored)
	require.NoError(t, again.Close())
}

// The check finds no damage in the log of a crashed node.
func TestCheckAcceptsACrashedLog(t *testing.T) {
	disk := crashable()
	n := openOn(t, disk)
	for i := range 10 {
		put(t, n, "s", int64(i)-1)
	}
	crashed := powerLoss(disk, 0)
	require.NoError(t, n.Close())
	before := contents(t, crashed)
	found := mustCheck(t, crashed)
	require.False(t, found.Sealed)
	require.EqualValues(t, 10, found.Events)
	logtest.RequireSameFiles(t, before, contents(t, crashed))
}

// The check describes each kind of damage.
func TestCheckNamesDamage(t *testing.T) {
	tests := []struct {
		name   string
		damage func(l rawLog)
		want   []string
	}{
		{"a flipped bit in a record", func(l rawLog) {
			l.change(keyOfRecord(l.position("s", 1)), func(v []byte) []byte { v[20] ^= 4; return v })
		}, []string{"record at %d: its checksum is wrong"}},
		{"a missing record", func(l rawLog) {
			l.delete(keyOfRecord(l.position("s", 1)))
		}, []string{"records are missing from %d to ", "record at %d: s@1 is missing"}},
		{"a missing index entry", func(l rawLog) {
			l.delete(keyOfEntry("s", 1))
		}, []string{"s begins or continues with revision 2 instead of 1", "record at %d is s@1, which is missing from the index"}},
		{"a missing event", func(l rawLog) {
			position := l.position("s", 1)
			l.delete(keyOfRecord(position))
			l.delete(keyOfEntry("s", 1))
		}, []string{"records are missing from ", "s begins or continues with revision 2 instead of 1"}},
		{"an index entry with a wrong position", func(l rawLog) {
			other := l.position("s", 2)
			l.change(keyOfEntry("s", 1), func([]byte) []byte { return keyOfRecord(other)[1:] })
		}, []string{"record at %d is s@1, but the index has position ", "it is not s@1"}},
		{"a truncated index entry", func(l rawLog) {
			l.change(keyOfEntry("s", 1), func(v []byte) []byte { return v[:3] })
		}, []string{"s@1: the log is damaged: an index entry has 3 bytes"}},
		{"a record at a wrong position", func(l rawLog) {
			l.set(keyOfRecord(1<<40), l.value(keyOfRecord(l.position("s", 1))))
		}, []string{"record at 1099511627776: its checksum is wrong"}},
		{"a stream name of the wrong length", func(l rawLog) {
			l.set([]byte{2, 0, 9, 's', 0, 0, 0, 0, 0, 0, 0, 0}, nil)
		}, []string{"the index has the malformed key 020009730000000000000000"}},
		{"a key of the wrong length", func(l rawLog) {
			l.set([]byte{1, 1}, nil)
		}, []string{"the log has the malformed key 0101"}},
		{"a key that does not belong to the log", func(l rawLog) {
			l.set([]byte("zz"), nil)
		}, []string{"the store contains the key 7a7a, which does not belong to the log"}},
		{"a cut without a scavenge", func(l rawLog) {
			l.set(keyOfCut("s"), summed(keyOfCut("s"), 0, 1))
		}, []string{"was scavenged up to position 1, but at the last scavenge the log ended before that position"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fs := vfs.NewMem()
			someLog(t, fs)
			var position uint64
			editLog(t, fs, func(l rawLog) {
				position = l.position("s", 1)
				test.damage(l)
			})
			found, err := storage.Check(t.Context(), "log", fs, nil)
			require.NoError(t, err)
			require.NotZero(t, found.Damages)
			for _, want := range test.want {
				if strings.Contains(want, "%") {
					want = fmt.Sprintf(want, position)
				}
				require.Condition(t, func() bool {
					return slices.ContainsFunc(found.Named, func(named string) bool { return strings.Contains(named, want) })
				}, "%q is not in %q", want, found.Named)
			}
			for _, named := range found.Named {
				require.NotContains(t, named, "\n")
			}
		})
	}
}

// A scavenge may remove records up to the current end of the log. Records that are
// missing beyond that point count as damage.
func TestCheckAcceptsOnlyGapsOfAScavenge(t *testing.T) {
	fs := vfs.NewMem()
	someLog(t, fs)
	n := openOn(t, fs)
	_, err := n.Scavenge(t.Context(), nil)
	require.NoError(t, err)
	put(t, n, "t", writer.NoStream)
	put(t, n, "t", 0)
	require.NoError(t, n.Close())
	found := mustCheck(t, fs)
	require.EqualValues(t, 2, found.Scavenged, "short and gone")

	var position uint64
	editLog(t, fs, func(l rawLog) {
		position = l.position("t", 0)
		l.delete(keyOfRecord(position))
		l.delete(keyOfEntry("t", 0))
		l.change(keyOfCut("short"), func(v []byte) []byte { v[3] ^= 1; return v })
	})
	found, err = storage.Check(t.Context(), "log", fs, nil)
	require.NoError(t, err)
	require.GreaterOrEqual(t, found.Damages, uint64(3))
	require.Contains(t, fmt.Sprint(found.Named), fmt.Sprintf("records are missing from %d to", position))
	require.Contains(t, fmt.Sprint(found.Named), "the stored result of a scavenge does not match its checksum")
}

// The check uses the seal to find a file that changed after the node was closed.
func TestCheckFindsChangedFiles(t *testing.T) {
	fs := vfs.NewMem()
	someLog(t, fs)
	whole := contents(t, fs)
	changes := map[string]func(f folder, name string){
		"has changed since the log was closed": func(f folder, name string) { f[name] += "x" },
		"is missing from log":                  func(f folder, name string) { delete(f, name) },
	}
	for want, change := range changes {
		for name := range whole {
			if name == "SEAL" || name[:4] == "mark" {
				continue
			}
			f := maps.Clone(whole)
			change(f, name)
			fs, err := f.disk()
			require.NoError(t, err)
			found, err := storage.Check(t.Context(), "log", fs, nil)
			require.NoError(t, err)
			require.Contains(t, found.Named[0], name+" ")
			require.Contains(t, found.Named[0], want)
			_, err = Open(Options{Dir: "log", FS: fs, Logger: quiet})
			require.ErrorIs(t, err, record.ErrDamaged)
			require.ErrorContains(t, err, name)
		}
	}
	f := maps.Clone(whole)
	f["009999.log"] = "a stranger"
	fs2, err := f.disk()
	require.NoError(t, err)
	_, err = Open(Options{Dir: "log", FS: fs2, Logger: quiet})
	require.ErrorContains(t, err, "009999.log was not in log when the log was closed")
}

func TestCheckRejectsUnusableFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	foreign := filepath.Join(dir, "foreign")
	require.NoError(t, os.Mkdir(foreign, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "letter.txt"), nil, 0o600))
	used := filepath.Join(dir, "used")
	n, err := Open(Options{Dir: used, Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	other := filepath.Join(dir, "other")
	inOther := vfs.NewMem()
	someLog(t, inOther)
	editLog(t, inOther, func(l rawLog) { l.set(keyOfFormat, []byte("99")) })
	_, err = vfs.Clone(inOther, vfs.Default, "log", other)
	require.NoError(t, err)
	for _, c := range []struct{ dir, want string }{
		{filepath.Join(dir, "nowhere"), "no such file"},
		{file, "is not a folder"},
		{foreign, "contains other files"},
		{t.TempDir(), "contains no log"},
		{used, "in use by another process"},
		{other, "format version 99"},
	} {
		_, err := storage.Check(t.Context(), c.dir, nil, nil)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fs := vfs.NewMem()
	f := openOn(t, fs)
	r := &writer.Request{Stream: "s", Expected: writer.NoStream}
	for range 2000 {
		r.Events = append(r.Events, writer.Proposed{ID: uuid.New(), Type: "T"})
	}
	_, err = f.writer.Submit(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = storage.Check(ctx, "log", fs, nil)
	require.ErrorIs(t, err, context.Canceled)
}
