package mail

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// folder writes each mail into a file of its own, named by its time, so that
// names sort as the mails were sent. Addresses and links are in these files:
// only their owner may read them.
type folder struct {
	dir  string
	from string
	now  func() time.Time
}

func openFolder(dir, from string, now func() time.Time) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mail folder: %w", err)
	}
	return &folder{dir: dir, from: from, now: now}, nil
}

// SendSignInLink implements Mailer.
func (f *folder) SendSignInLink(_ context.Context, to, link string, until time.Time) error {
	now := f.now()
	m, err := signInLink(f.from, to, link, now, until)
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
	if err := os.Rename(temp.Name(), filepath.Join(f.dir, fileName(now))); err != nil {
		return fmt.Errorf("name a mail: %w", err)
	}
	return nil
}

func fileName(now time.Time) string {
	return now.UTC().Format("20060102T150405.000000000Z") + "-" + rand.Text()[:8] + ".eml"
}
