// Package disk guards the files that Pebble writes for a log. It stops the log at the
// first failed write and seals the folder of a closed log. It detects damage that
// Pebble would mistake for the effects of a crash. It depends on the formats of
// Pebble's files, but not on the contents of the log.
package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk is the file system under Pebble. It differs from a plain file system in
// three ways.
//
// Failures are final. If a change to a write-ahead log or to the folder fails while the
// guard is on, the Disk calls the function fatal, but only for the first failure. The
// failed call blocks until Release. If it returned, Pebble would panic in one of its
// own goroutines, where nothing can recover from the panic. Reads continue.
//
// Write-ahead logs are reused. A sync of an overwritten file is faster than a sync
// of a new file. But old records remain in the file after the new ones, so a
// scavenge turns reuse off with SetRecreate.
//
// Markers come last. A marker names another file, so Create syncs the folder before
// it creates a marker. After a power loss, the file that a marker names therefore
// always exists.
type Disk struct {
	vfs.FS
	dir      string // the log's folder
	recreate atomic.Bool
	fatal    func(error)
	guarded  atomic.Bool
	over     chan struct{} // closed by Release
}

// New returns the file system for a log's folder, with the guard off. It may call the
// function fatal from any goroutine.
func New(fs vfs.FS, dir string, fatal func(error)) *Disk {
	return &Disk{FS: fs, dir: dir, fatal: fatal, over: make(chan struct{})}
}

// SetGuard turns the guard on or off. While the guard is on, the first failed
// change stops the log.
func (d *Disk) SetGuard(on bool) { d.guarded.Store(on) }

// Release turns off the guard after the log has failed. The calls that the guard has
// blocked then return their errors.
func (d *Disk) Release() {
	d.guarded.Store(false)
	close(d.over)
}

// SetRecreate sets whether Pebble removes obsolete write-ahead logs instead of
// overwriting them.
func (d *Disk) SetRecreate(on bool) { d.recreate.Store(on) }

// halt returns err, the result of a change. If err is not nil and the guard is on, halt
// first calls the function fatal with err, and then blocks until Release.
func (d *Disk) halt(err error) error {
	if err != nil && d.guarded.Load() {
		d.fatal(fmt.Errorf("write the log: %w", err))
		<-d.over
	}
	return err
}

// Create implements vfs.FS.
func (d *Disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(d.PathBase(name), markerPrefix) {
		if err := syncDir(d, d.PathDir(name)); err != nil {
			return nil, err
		}
	}
	f, err := d.FS.Create(name, category)
	return d.wrap(name, f, err)
}

// ReuseForWrite implements vfs.FS.
func (d *Disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !d.recreate.Load() {
		f, err := d.FS.ReuseForWrite(oldname, newname, category)
		return d.wrap(newname, f, err)
	}
	if err := d.halt(d.FS.Remove(oldname)); err != nil {
		return nil, err
	}
	return d.Create(newname, category)
}

// OpenDir implements vfs.FS.
func (d *Disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil || name != d.dir {
		return f, err
	}
	return &guarded{f, d}, nil
}

// Unwrap implements vfs.FS.
func (d *Disk) Unwrap() vfs.FS { return d.FS }

func (d *Disk) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if !strings.HasSuffix(name, walSuffix) || name != d.PathJoin(d.dir, d.PathBase(name)) {
		return f, err
	}
	if err := d.halt(err); err != nil {
		return nil, err
	}
	return &guarded{f, d}, nil
}

// The type guarded is an open file that the guard watches: a write-ahead log or the
// log's folder.
type guarded struct {
	vfs.File
	disk *Disk
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

// ReadOnly returns a view of a file system that rejects every change.
func ReadOnly(fs vfs.FS) vfs.FS { return readFS{fs} }

// readFS rejects every change. The caller already holds the folder's lock.
type readFS struct{ vfs.FS }

// Lock does nothing: the caller already holds the lock.
func (readFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

var errReadOnly = errors.New("the log is open read-only")

// Create fails, as does every other change.
func (readFS) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnly }

// OpenReadWrite fails.
func (readFS) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnly
}

// ReuseForWrite fails.
func (readFS) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnly
}

// Link fails.
func (readFS) Link(string, string) error { return errReadOnly }

// Remove fails.
func (readFS) Remove(string) error { return errReadOnly }

// RemoveAll fails.
func (readFS) RemoveAll(string) error { return errReadOnly }

// Rename fails.
func (readFS) Rename(string, string) error { return errReadOnly }

// MkdirAll fails.
func (readFS) MkdirAll(string, os.FileMode) error { return errReadOnly }

// Unwrap implements vfs.FS.
func (f readFS) Unwrap() vfs.FS { return f.FS }
