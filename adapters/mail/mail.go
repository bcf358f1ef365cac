// Package mail sends the arena's mails: into a folder of .eml files, which any
// mail program opens. Open chooses by the setting. It knows nothing of accounts
// or of what a link opens.
package mail

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Mailer sends mails. It is safe for concurrent use.
type Mailer interface {
	// SendSignInLink sends a link by which the reader signs in, until a time.
	SendSignInLink(ctx context.Context, to, link string, until time.Time) error
}

// Open returns the mailer that a setting names: file:DIR, a folder that is made
// if it is not there. From is the sender's address. The error is one line for
// the person who set it.
func Open(setting, from string, now func() time.Time) (Mailer, error) {
	dir, ok := strings.CutPrefix(setting, "file:")
	switch {
	case !ok:
		return nil, fmt.Errorf("mail %q: want file:DIR", setting)
	case dir == "":
		return nil, fmt.Errorf("mail %q: the folder is missing", setting)
	}
	return openFolder(dir, from, now)
}
