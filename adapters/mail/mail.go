// Package mail sends the arena's mails: into a folder of .eml files, which any mail
// program opens, or to an SMTP server. [Open] returns the mailer of a setting, and
// [Mailer].Run delivers the queued mails.
//
// Errors and log lines contain no address and no link. The package does not know
// accounts, nor the meaning of a link.
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
	// SendSignInLink sends a sign-in link that is valid until a time. It does not
	// wait for a mail server: Run delivers the mail, and retries until that time.
	SendSignInLink(ctx context.Context, to, link string, until time.Time) error

	// SendBotPaused tells an owner that the arena has paused a bot. It returns when
	// the mail is delivered. A repeated mail has the same id, so mail programs and
	// the folder show it once.
	SendBotPaused(ctx context.Context, to string, b BotPaused) error

	// Run delivers the queued mails until ctx ends. Then it tries each once more, for
	// a few seconds.
	Run(ctx context.Context, logger *slog.Logger)
}

// BotPaused is the content of a mail about a paused bot.
type BotPaused struct {
	BotID string
	Name  string
	Mode  string
	At    time.Time // of the pause
	Page  string    // URL of the page on which the owner unpauses the bot
}

// Open returns the mailer of a setting: file:DIR for a folder, which Open creates if
// necessary; smtp://user:password@host:port for a mail server; or smtps:// for TLS
// from the start. from is the sender's address, which the query ?from= of a server
// replaces. The error is one line and contains no password.
func Open(setting, from string, now func() time.Time) (Mailer, error) {
	kind, rest, _ := strings.Cut(setting, ":")
	switch kind {
	case "file":
		if rest == "" {
			return nil, fmt.Errorf("mail %q: name a folder: file:DIR", setting)
		}
		f, err := openFolder(rest, now)
		if err != nil {
			return nil, err
		}
		return &folderMailer{f, writer{from: from, now: now}}, nil
	case "smtp", "smtps":
		u, err := url.Parse(setting)
		if err != nil {
			return nil, fmt.Errorf("mail %s: invalid URL", kind) // err would contain the password
		}
		server, sender, err := newServer(u, from)
		if err != nil {
			return nil, fmt.Errorf("mail %s: %w", u.Redacted(), err)
		}
		return newServerMailer(server, writer{from: sender, now: now}), nil
	}
	return nil, fmt.Errorf("mail %q: use file:DIR, smtp://HOST or smtps://HOST", kind)
}

// folderMailer writes mails into a folder at once.
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

// Run implements Mailer. There is no queue.
func (m *folderMailer) Run(context.Context, *slog.Logger) {}
