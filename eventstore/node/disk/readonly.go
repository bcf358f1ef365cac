package disk

import (
	"errors"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ReadOnly returns a view of a file system that rejects every change.
func ReadOnly(fs vfs.FS) vfs.FS { return readFS{fs} }

// readFS rejects every change. Its user holds the lock of the folder.
type readFS struct{ vfs.FS }

// Lock locks nothing.
func (readFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

var errReadOnly = errors.New("the log is open for reading only")

// Create fails, like every other change.
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
