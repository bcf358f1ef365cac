package node

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// freshFS is a file system on which used-up write-ahead logs are written over,
// which syncs faster than new files do; unless it is told to make them anew,
// since what is written over keeps, behind what is new, what it held before.
type freshFS struct {
	vfs.FS
	anew atomic.Bool
}

// ReuseForWrite implements vfs.FS.
func (f *freshFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !f.anew.Load() {
		return f.FS.ReuseForWrite(oldname, newname, category)
	}
	if err := f.FS.Remove(oldname); err != nil {
		return nil, err
	}
	return f.FS.Create(newname, category)
}

// Unwrap implements vfs.FS.
func (f *freshFS) Unwrap() vfs.FS { return f.FS }

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
