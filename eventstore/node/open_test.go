package node

import (
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore/logtest"
	"hexarena/eventstore/node/storage"
	"hexarena/eventstore/node/writer"
)

// Open does not change a folder that it rejects, and returns a one-line error.
func TestRejectedFoldersStayUnchanged(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, fs vfs.FS)
		want string
	}{
		{"another format version", func(t *testing.T, fs vfs.FS) {
			someLog(t, fs)
			editLog(t, fs, func(l rawLog) { l.set(keyOfFormat, []byte("3")) })
		}, "format version 3, but this program reads only 1 and 2"},
		{"another program's log, of an older format", func(t *testing.T, fs vfs.FS) {
			db, err := pebble.Open("log", &pebble.Options{FS: fs, Logger: silent{t}, FormatMajorVersion: pebble.FormatMinSupported})
			require.NoError(t, err)
			require.NoError(t, db.Set([]byte("k"), []byte("v"), pebble.Sync))
			require.NoError(t, db.Close())
		}, "log contains other files"},
		{"a folder with other files", func(t *testing.T, fs vfs.FS) {
			require.NoError(t, fs.MkdirAll("log", 0o700))
			require.NoError(t, saveFile(fs, "log/letter.txt", "dear Ada"))
		}, "log contains other files"},
		{"a damaged file of a closed log", func(t *testing.T, fs vfs.FS) {
			someLog(t, fs)
			require.NoError(t, saveFile(fs, "log/MANIFEST-000001", "x"))
		}, "MANIFEST-000001 in log has changed since the log was closed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fs := vfs.NewMem()
			test.make(t, fs)
			before := contents(t, fs)
			_, err := Open(Options{Dir: "log", FS: fs, Logger: quiet})
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "\n")
			logtest.RequireSameFiles(t, before, contents(t, fs))
		})
	}
}

// If the disk is full or the folder cannot be read, Open returns a one-line error. Once
// the problem is fixed, Open finds the log unchanged.
func TestOpenOnFullOrForbiddenFolder(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		kinds func(errorfs.Op) bool
	}{
		"a full disk":          {syscall.ENOSPC, isChange},
		"an unreadable folder": {syscall.EACCES, func(op errorfs.Op) bool { return op.Kind == errorfs.OpList }},
		"an unreadable file":   {syscall.EACCES, func(op errorfs.Op) bool { return op.Kind == errorfs.OpOpen }},
		"a read-only disk":     {syscall.EROFS, isChange},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			someLog(t, mem)
			_, err := Open(Options{Dir: "log", Logger: quiet, FS: errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if c.kinds(op) && op.Kind != errorfs.OpMkdirAll {
					return &os.PathError{Op: "use", Path: op.Path, Err: c.err}
				}
				return nil
			}))})
			require.ErrorIs(t, err, c.err)
			require.NotErrorIs(t, err, storage.ErrLocked)
			require.NotContains(t, err.Error(), "\n")
			require.Less(t, len(err.Error()), 200)
			require.True(t, strings.HasPrefix(err.Error(), "data folder") || strings.Contains(err.Error(), "log"), err.Error())
			require.EqualValues(t, 11, mustCheck(t, mem).Events)
			require.NoError(t, openOn(t, mem).Close())
		})
	}
}

// If the creation of a log is interrupted at any point, the next Open completes it.
func TestOpenAfterInterruptedCreation(t *testing.T) {
	states := 0
	for _, kept := range []int{0, 20, 40, 50, 60, 80, 100} {
		disk := crashable()
		var mu sync.Mutex
		var left []*vfs.MemFS
		n := openOn(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				mu.Lock()
				defer mu.Unlock()
				left = append(left, powerLoss(disk, kept))
			}
			return nil
		})))
		require.NoError(t, n.Close())
		for _, fs := range left {
			n := openOn(t, fs)
			put(t, n, "s", writer.NoStream)
			require.NoError(t, n.Close())
			mustCheck(t, fs)
			states++
		}
	}
	t.Logf("%d crash states tried while a log was created", states)
}

// A power loss may lose a file but keep files that were created later. So the
// manifest must be on disk before its marker is.
func TestManifestIsSyncedBeforeItsMarker(t *testing.T) {
	var mu sync.Mutex
	var unsynced bool
	var markers int
	disk := errorfs.Wrap(crashable(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		name := path.Base(op.Path)
		switch {
		case op.Kind == errorfs.OpCreate && strings.HasPrefix(name, "MANIFEST-"):
			unsynced = true
		case op.Kind == errorfs.OpFileSync && name == "log":
			unsynced = false
		case op.Kind == errorfs.OpCreate && strings.HasPrefix(name, "marker.manifest."):
			markers++
			assert.False(t, unsynced, name)
		}
		return nil
	}))
	for range 3 {
		n := openOn(t, disk)
		put(t, n, "s", writer.Any)
		require.NoError(t, n.Close())
	}
	require.GreaterOrEqual(t, markers, 3)
}
