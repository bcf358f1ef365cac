// Package mail sends the arena's mails: into a folder of .eml files, which any
// mail program opens, or to an SMTP server. Open chooses by the setting; Run
// delivers what a call has not waited for. Its errors and log lines name no
// address and no link. It knows nothing of accounts or of what a link opens.
package mail

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
)

// Mailer sends mails. It is safe for concurrent use.
type Mailer interface {
	// SendSignInLink sends a link by which the reader signs in, until a time. It
	// does not wait for a mail server: Run delivers, and tries again while the
	// link lasts.
	SendSignInLink(ctx context.Context, to, link string, until time.Time) error

	// SendBotPaused tells an owner that the arena has paused a bot, and returns
	// once the mail is delivered. Sent again it is the same mail, which programs
	// for mail show once, as does a folder.
	SendBotPaused(ctx context.Context, to string, b BotPaused) error

	// Run delivers what waits until ctx ends, and then for a last short while.
	Run(ctx context.Context, logger *slog.Logger)
}

// BotPaused is a bot that its owner must hear of.
type BotPaused struct {
	BotID string
	Name  string
	Mode  string
	At    time.Time // when it was paused
	Page  string    // where its owner unpauses it
}

// Open returns the mailer that a setting names: file:DIR, a folder that is made
// if it is not there, or smtp://user:password@host:port, or smtps:// for TLS
// from the start. From is the sender's address; of a mail server the query
// ?from= names another. The error is one line for the person who set it, and
// holds no password.
func Open(setting, from string, now func() time.Time) (Mailer, error) {
	kind, rest, _ := strings.Cut(setting, ":")
	switch kind {
	case "file":
		if rest == "" {
			return nil, fmt.Errorf("mail %q: the folder is missing", setting)
		}
		f, err := openFolder(rest, now)
		if err != nil {
			return nil, err
		}
		return &folderMailer{f, writer{from: from, now: now}}, nil
	case "smtp", "smtps":
		u, err := url.Parse(setting)
		if err != nil {
			return nil, fmt.Errorf("mail %s: the URL cannot be read", kind) // err would repeat it, password and all
		}
		server, sender, err := newServer(u, from)
		if err != nil {
			return nil, fmt.Errorf("mail %s: %w", u.Redacted(), err)
		}
		return newServerMailer(server, writer{from: sender, now: now}), nil
	}
	return nil, fmt.Errorf("mail %q: want file:DIR, smtp://HOST or smtps://HOST", kind)
}

// folderMailer writes at once.
type folderMailer struct {
	folder *folder
	writer writer
}

// SendSignInLink implements Mailer.
func (m *folderMailer) SendSignInLink(_ context.Context, to, link string, until time.Time) error {
	return m.folder.write(m.writer.signInLink(to, link, until))
}

// SendBotPaused implements Mailer.
func (m *folderMailer) SendBotPaused(_ context.Context, to string, b BotPaused) error {
	return m.folder.write(m.writer.botPaused(to, b))
}

// Run implements Mailer; nothing waits.
func (m *folderMailer) Run(context.Context, *slog.Logger) {}
