package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// maxFile bounds what is read, in bytes.
const maxFile = 1 << 20

// load reads the file at path. A file that does not exist is fs.ErrNotExist.
func load(path string) (contents, error) {
	info, err := os.Stat(path) // before it is opened: a pipe would hang
	if err != nil {
		return contents{}, fmt.Errorf("secrets file: %w", err)
	}
	if err := acceptable(path, info); err != nil {
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

// acceptable refuses a file that is open to others. Windows keeps that in
// ACLs, which file modes do not show.
func acceptable(path string, info fs.FileInfo) error {
	mode := info.Mode()
	switch {
	case !mode.IsRegular():
		return fmt.Errorf("the secrets file %s is not a regular file", path)
	case mode.Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return fmt.Errorf("the secrets file %s is open to others (mode %04o): chmod 600 %s", path, mode.Perm(), path)
	case info.Size() > maxFile:
		return fmt.Errorf("the secrets file %s is larger than %d bytes", path, maxFile)
	}
	return nil
}

// create writes a new file, whole and synced, or none; its name is durable
// once syncFolder has run. A crash leaves at most a file of another name
// behind, whose keys nobody uses. Where path exists already it is left alone,
// with fs.ErrExist.
func create(path string, c contents) error {
	data, err := c.encode()
	if err != nil {
		return fmt.Errorf("make the secrets file %s: %w", path, err)
	}
	temp, err := written(filepath.Dir(path), data)
	if err != nil {
		return fmt.Errorf("make the secrets file %s: %w", path, err)
	}
	defer os.Remove(temp) //nolint:errcheck // a name too many is harmless
	// Unlike a rename, a link never replaces what another start has made.
	if err := os.Link(temp, path); err != nil {
		return fmt.Errorf("make the secrets file %s: %w", path, err)
	}
	return nil
}

// written writes a file of another name, mode 0600, and syncs it.
func written(dir string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(dir, ".secrets-*")
	if err != nil {
		return "", err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// syncFolder makes the names in a folder durable. Windows has no such call.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
