package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// maxFile is the maximum size of the secrets file, in bytes.
const maxFile = 1 << 20

// load reads the file at path. It returns fs.ErrNotExist if the file does not
// exist.
func load(path string) (contents, error) {
	info, err := os.Stat(path) // before opening the file, because opening a pipe could block
	if err != nil {
		return contents{}, fmt.Errorf("secrets file: %w", err)
	}
	if err := checkMode(path, info); err != nil {
		return contents{}, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return contents{}, fmt.Errorf("secrets file: %w", err)
	}
	c, err := parse(data)
	if err != nil {
		return contents{}, fmt.Errorf("the secrets file %s is damaged: %w: restore it from its backup", path, err)
	}
	return c, nil
}

// checkMode rejects files that are not regular files, and files that other users may
// open. It does not check the mode on Windows, which uses ACLs instead.
func checkMode(path string, info fs.FileInfo) error {
	mode := info.Mode()
	switch {
	case !mode.IsRegular():
		return fmt.Errorf("the secrets file %s is not a regular file", path)
	case mode.Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return fmt.Errorf("the secrets file %s is accessible to other users (mode %04o): run chmod 600 %s", path, mode.Perm(), path)
	case info.Size() > maxFile:
		return fmt.Errorf("the secrets file %s is larger than %d bytes", path, maxFile)
	}
	return nil
}

// create writes a new file. If a file already exists at path, create changes nothing
// and returns fs.ErrExist. It creates a link instead of renaming, because a link never
// replaces a file that another process has created.
func create(path string, c contents) error { return write(path, c, os.Link) }

// replace replaces the file at path. If it fails, the old file does not change.
func replace(path string, c contents) error {
	path, err := filepath.EvalSymlinks(path) // if path is a symbolic link, replace the link's target
	if err != nil {
		return fmt.Errorf("write the secrets file: %w", err)
	}
	return write(path, c, os.Rename)
}

// The function write() stores a file durably. It creates a temporary file. Then the
// function place() gives the file its final name. A crash leaves at most a temporary
// file with unused keys.
func write(path string, c contents, place func(temp, path string) error) error {
	data, err := c.encode()
	if err == nil && len(data) > maxFile {
		return fmt.Errorf("the secrets file %s would be larger than %d bytes", path, maxFile)
	}
	if err == nil {
		err = writeTemp(filepath.Dir(path), data, func(temp string) error { return place(temp, path) })
	}
	if err != nil {
		return fmt.Errorf("write the secrets file %s: %w", path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// writeTemp writes and syncs a temporary file with mode 0600, passes its name to the
// callback, and then removes that name.
func writeTemp(dir string, data []byte, use func(name string) error) error {
	f, err := os.CreateTemp(dir, ".secrets-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // an error does not matter: a leftover file is harmless, and after a rename the name does not exist
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return use(f.Name())
}

// syncFolder makes the names of the files in a folder durable. It does nothing on
// Windows, where this is not necessary.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
