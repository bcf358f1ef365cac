package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system as Pebble sees it. It differs in three ways.
//
// Used-up write-ahead logs are written over, which syncs faster than new files
// do; unless it is told to make them anew, since what is written over keeps,
// behind what is new, what it held before.
//
// Once the log is open, the first change of a write-ahead log that fails stops
// the node, and does not return: Pebble would go on to panic where nothing can
// recover it, in the middle of changing to another file. Reads go on.
//
// A marker is made once the folder is synced: it names another file, and no
// power loss may leave it alone there.
type disk struct {
	vfs.FS
	dir     string // of the log
	anew    atomic.Bool
	fatal   func(error)
	guarded atomic.Bool
	over    chan struct{} // closed when nobody is where it would panic
}

func newDisk(fs vfs.FS, dir string, fatal func(error)) *disk {
	return &disk{FS: fs, dir: dir, fatal: fatal, over: make(chan struct{})}
}

// halt passes on how a change ended, if it ended well.
func (d *disk) halt(err error) error {
	if err != nil && d.guarded.Load() {
		d.fatal(fmt.Errorf("write the log: %w", err))
		<-d.over
	}
	return err
}

// Create implements vfs.FS.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(d.PathBase(name), markerPrefix) {
		if err := syncDir(d, d.PathDir(name)); err != nil {
			return nil, err
		}
	}
	f, err := d.FS.Create(name, category)
	return d.guard(name, f, err)
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !d.anew.Load() {
		f, err := d.FS.ReuseForWrite(oldname, newname, category)
		return d.guard(newname, f, err)
	}
	if err := d.halt(d.FS.Remove(oldname)); err != nil {
		return nil, err
	}
	return d.Create(newname, category)
}

// OpenDir implements vfs.FS.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil || name != d.dir {
		return f, err
	}
	return &guarded{f, d}, nil
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

func (d *disk) guard(name string, f vfs.File, err error) (vfs.File, error) {
	if !strings.HasSuffix(name, walSuffix) || name != d.PathJoin(d.dir, d.PathBase(name)) {
		return f, err
	}
	if err := d.halt(err); err != nil {
		return nil, err
	}
	return &guarded{f, d}, nil
}

// guarded is a write-ahead log, or the folder that it is in.
type guarded struct {
	vfs.File
	disk *disk
}

func (f *guarded) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.disk.halt(err)
}

func (f *guarded) Sync() error     { return f.disk.halt(f.File.Sync()) }
func (f *guarded) SyncData() error { return f.disk.halt(f.File.SyncData()) }
func (f *guarded) Close() error    { return f.disk.halt(f.File.Close()) }

func (f *guarded) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.disk.halt(err)
}

func (f *guarded) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	return info, f.disk.halt(err)
}

// readFS is a file system that nothing is written to. Its user has locked what
// it reads.
type readFS struct{ vfs.FS }

// Lock locks nothing.
func (readFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

var errReadOnly = errors.New("opened for reading alone")

// Create refuses, as does all that follows.
func (readFS) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnly }

// OpenReadWrite refuses.
func (readFS) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnly
}

// ReuseForWrite refuses.
func (readFS) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnly
}

// Link refuses.
func (readFS) Link(string, string) error { return errReadOnly }

// Remove refuses.
func (readFS) Remove(string) error { return errReadOnly }

// RemoveAll refuses.
func (readFS) RemoveAll(string) error { return errReadOnly }

// Rename refuses.
func (readFS) Rename(string, string) error { return errReadOnly }

// MkdirAll refuses.
func (readFS) MkdirAll(string, os.FileMode) error { return errReadOnly }

// Unwrap implements vfs.FS.
func (f readFS) Unwrap() vfs.FS { return f.FS }
