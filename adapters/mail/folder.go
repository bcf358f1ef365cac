package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// folder writes each mail into a file of its own, named by its time, so that
// names sort as the mails were sent. Addresses and links are in these files:
// only their owner may read them.
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

// write writes a letter; the same one again takes the place of the first.
func (f *folder) write(l letter) error {
	m, err := l.message(gomail.NoEncoding, f.now())
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(f.dir, ".mail-*")
	if err != nil {
		return fmt.Errorf("mail folder: %w", err)
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // it is gone once it has its name
	_, err = m.WriteTo(temp)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write a mail: %w", err)
	}
	if err := os.Rename(temp.Name(), filepath.Join(f.dir, l.fileName())); err != nil {
		return fmt.Errorf("name a mail: %w", err)
	}
	return nil
}

func (l letter) fileName() string {
	id := sha256.Sum256([]byte(l.id))
	return l.named.UTC().Format("20060102T150405.000000000Z") + "-" + hex.EncodeToString(id[:4]) + ".eml"
}
