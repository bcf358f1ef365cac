package lease

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
)

// The files that a data folder holds for its player.
const (
	lockName = "player.lock"
	idName   = "player.id"
)

// folder is a data folder that this process alone uses for playing.
type folder struct {
	id   string // the same at every start
	lock io.Closer
}

// openFolder locks a data folder, which must exist, and reads its id; the
// first time it is made. The lock ends with the process at the latest.
func openFolder(path string) (*folder, error) {
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
		return nil, fmt.Errorf("another arena plays from the data folder %s (%w)", path, err)
	}
	id, err := readOrMakeID(filepath.Join(path, idName))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &folder{id: id, lock: lock}, nil
}

func (f *folder) close() error { return f.lock.Close() }

// readOrMakeID returns the id that a file holds. An empty or torn one, left by
// a crash, is made anew: that costs a wait for the lease, no more.
func readOrMakeID(path string) (string, error) {
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
