package mail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// folder writes each email to a separate file. The file names begin with the time, so
// sorting them by name sorts the emails by time. Only the user that runs the process
// may read the files, because they contain addresses and links.
type folder struct {
	dir string
	now func() time.Time
}

func openFolder(dir string, now func() time.Time) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mail folder: %w", err)
	}
	return &folder{dir: dir, now: now}, nil
}

// The method write() stores a letter in a file. If the letter is sent again, write
// replaces the file.
func (f *folder) write(_ context.Context, l letter) error {
	m, err := l.message(gomail.NoEncoding, f.now())
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(f.dir, ".mail-*")
	if err != nil {
		return fmt.Errorf("mail folder: %w", err)
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // after the rename there is nothing to remove
	_, err = m.WriteTo(temp)
	if err := errors.Join(err, temp.Close()); err != nil {
		return fmt.Errorf("write mail: %w", err)
	}
	if err := os.Rename(temp.Name(), filepath.Join(f.dir, l.fileName())); err != nil {
		return fmt.Errorf("rename mail: %w", err)
	}
	return nil
}

func (l letter) fileName() string {
	id := sha256.Sum256([]byte(l.id))
	return l.named.UTC().Format("20060102T150405.000000000Z") + "-" + hex.EncodeToString(id[:4]) + ".eml"
}
