package disk

import (
	"errors"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ReadOnly returns a view of a file system that rejects every change.
func ReadOnly(fs vfs.FS) vfs.FS { return readFS{fs} }

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
