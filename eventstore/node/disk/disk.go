// Package disk guards the files of a log under Pebble: it stops the log at the
// first write that fails, seals the folder of a closed log, and finds damage that
// Pebble would take for the traces of a crash. It knows Pebble's files and not
// what is in the log.
package disk

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk is the file system as Pebble sees it. It differs in three ways.
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
type Disk struct {
	vfs.FS
	dir      string // of the log
	recreate atomic.Bool
	fatal    func(error)
	guarded  atomic.Bool
	over     chan struct{} // closed when nobody is where it would panic
}

func New(fs vfs.FS, dir string, fatal func(error)) *Disk {
	return &Disk{FS: fs, dir: dir, fatal: fatal, over: make(chan struct{})}
}

// SetGuard starts or stops treating the first failed change as the end of the log.
func (d *Disk) SetGuard(on bool) { d.guarded.Store(on) }

// Release ends the guard of a log that has failed, and lets the goroutines that
// it has stopped return their errors.
func (d *Disk) Release() {
	d.guarded.Store(false)
	close(d.over)
}

// SetRecreate decides whether used write-ahead logs are removed instead of
// written over.
func (d *Disk) SetRecreate(on bool) { d.recreate.Store(on) }

// halt passes on how a change ended, if it ended well.
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

// guarded is a write-ahead log, or the folder that it is in.
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
