package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// maxFile bounds the file, in bytes.
const maxFile = 1 << 20

// load reads the file at path. It returns fs.ErrNotExist if there is none.
func load(path string) (contents, error) {
	info, err := os.Stat(path) // before opening it, because opening a pipe would block
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

// checkMode refuses files that other users may open, and other kinds of files.
// Windows uses ACLs instead, which file modes do not show.
func checkMode(path string, info fs.FileInfo) error {
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

// create writes and syncs a new file. Its name is durable after syncFolder. A crash
// leaves at most a temporary file with unused keys. If path exists, create changes
// nothing and returns fs.ErrExist.
func create(path string, c contents) error {
	data, err := c.encode()
	if err != nil {
		return fmt.Errorf("create the secrets file %s: %w", path, err)
	}
	temp, err := writeTemp(filepath.Dir(path), data)
	if err != nil {
		return fmt.Errorf("create the secrets file %s: %w", path, err)
	}
	defer os.Remove(temp) //nolint:errcheck // a leftover name is harmless
	// Unlike a rename, a link never replaces a file of another process.
	if err := os.Link(temp, path); err != nil {
		return fmt.Errorf("create the secrets file %s: %w", path, err)
	}
	return nil
}

// writeTemp writes and syncs a temporary file of mode 0600.
func writeTemp(dir string, data []byte) (name string, err error) {
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

// syncFolder makes the names in a folder durable. Windows does not need it.
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
