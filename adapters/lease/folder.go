package lease

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
)

// These files of a data folder make sure that only one process plays from it, and name
// that process.
const (
	lockName = "player.lock"
	idName   = "player.id"
)

// Folder is the locked data folder of a process that plays. Its id and its host
// identify the process in the log.
type Folder struct {
	ID     string
	Host   string // the name of the machine, for display only
	unlock func() error
}

// OpenFolder locks an existing data folder, so that no other process can play from it.
// The first call for a folder creates the id, which then never changes. The operating
// system releases the lock when the process ends.
func OpenFolder(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	lock, err := vfs.Default.Lock(filepath.Join(path, lockName))
	var unusable *fs.PathError
	switch {
	case errors.As(err, &unusable):
		return nil, fmt.Errorf("data folder: %w", err)
	case err != nil:
		return nil, fmt.Errorf("another arena uses the data folder %s (%w); stop it or choose another --data", path, err)
	}
	id, err := readOrCreateID(filepath.Join(path, idName))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	return &Folder{ID: id, Host: host, unlock: sync.OnceValue(lock.Close)}, nil
}

// Close unlocks the folder. Only the first call has an effect.
func (f *Folder) Close() error { return f.unlock() }

// readOrCreateID returns the id in a file. If a crash left an empty or incomplete id,
// readOrCreateID creates a new id. With a new id, this process may have to wait for the
// lease, but nothing else changes.
func readOrCreateID(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("player id: %w", err)
	}
	if id, err := uuid.Parse(strings.TrimSpace(string(data))); err == nil {
		return id.String(), nil
	}
	id := uuid.NewString()
	if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("player id: %w", err)
	}
	return id, nil
}
