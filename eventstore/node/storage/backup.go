package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hexarena/eventstore/node/disk"
)

// ErrTarget means that the target of a backup is unusable. It must be a new or empty
// folder outside the log's folder.
var ErrTarget = errors.New("unusable backup folder")

// CopyTo copies the log into a folder and returns the size of the copy. It returns
// ErrTarget if the folder is not empty or lies within the log's folder.
func (s *Store) CopyTo(ctx context.Context, target string) (size uint64, err error) {
	if err := s.checkTarget(target); err != nil {
		return 0, err
	}
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	if size, err = s.copyInto(target); err != nil {
		return 0, fmt.Errorf("backup to %s: %w", target, err)
	}
	return size, nil
}

// checkTarget returns ErrTarget if the target is unusable.
func (s *Store) checkTarget(target string) error {
	if target == "" || !filepath.IsAbs(target) && s.fs.FS == vfs.Default {
		return fmt.Errorf("%w: %q: want an absolute path", ErrTarget, target)
	}
	dir := s.dir
	if absolute, err := filepath.Abs(dir); err == nil && filepath.IsAbs(target) {
		dir = absolute
	}
	if inside, err := filepath.Rel(dir, target); err == nil && inside != ".." && !strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return fmt.Errorf("%w: %s is within the log's own folder", ErrTarget, target)
	}
	info, err := s.fs.Stat(target)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTarget, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: %s is a file", ErrTarget, target)
	}
	names, err := s.fs.List(target)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%s is not empty", target)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTarget, err)
	}
	return nil
}

func (s *Store) copyInto(target string) (size uint64, err error) {
	if err := s.fs.Remove(target); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	err = s.checkpoint(target)
	if err == nil {
		err = disk.Seal(s.fs, target, s.format())
	}
	if err == nil {
		size, err = sizeOf(s.fs, target)
	}
	if err != nil {
		return 0, errors.Join(err, s.fs.RemoveAll(target))
	}
	return size, nil
}

// checkpoint makes the copy.
func (s *Store) checkpoint(target string) (err error) {
	defer recoverInto(&err, "copy the files")
	return s.DB.Checkpoint(target, pebble.WithFlushedWAL())
}

func sizeOf(fs vfs.FS, dir string) (size uint64, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		info, err := fs.Stat(fs.PathJoin(dir, name))
		if err != nil {
			return 0, err
		}
		size += uint64(info.Size())
	}
	return size, nil
}
