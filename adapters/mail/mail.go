// Package mail sends the arena's emails. It either sends them to an SMTP server, or
// writes them to a folder as .eml files, which any mail program can open. [Open]
// returns the mailer for a setting, and [Mailer].Run delivers the queued emails.
//
// Errors and log lines contain no address and no link. The package does not read
// accounts, and does not know what a link does.
package mail

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"hexarena/domain/health"
	"hexarena/domain/owner"
)

// Mailer sends emails. It is safe for concurrent use.
type Mailer struct {
	writer  writer
	deliver func(context.Context, letter) error // returns once a folder or a server has the email
	queue   *queue                              // nil if SendSignInLink delivers the email before it returns
}

// Open returns the mailer for a setting. The setting file:DIR selects a folder, which
// Open creates if necessary. The setting smtp://user:password@host:port selects a mail
// server. With smtps:// instead of smtp://, the connection uses TLS from the start. The
// parameter from is the sender's address; the query ?from= in a server's URL overrides
// it. An error message is a single line and does not contain the password.
func Open(setting, from string, now func() time.Time) (*Mailer, error) {
	kind, rest, _ := strings.Cut(setting, ":")
	switch kind {
	case "file":
		if rest == "" {
			return nil, fmt.Errorf("mail %q: the folder is missing: use file:DIR", setting)
		}
		f, err := openFolder(rest, now)
		if err != nil {
			return nil, err
		}
		return &Mailer{writer: writer{from: from, now: now}, deliver: f.write}, nil
	case "smtp", "smtps":
		u, err := url.Parse(setting)
		if err != nil {
			return nil, fmt.Errorf("mail %s: invalid URL", kind) // err would contain the password
		}
		s, sender, err := newServer(u, from)
		if err != nil {
			return nil, fmt.Errorf("mail %s: %w", u.Redacted(), err)
		}
		return newServerMailer(s, writer{from: sender, now: now}), nil
	}
	return nil, fmt.Errorf("mail %q: use file:DIR, smtp://HOST or smtps://HOST", kind)
}

func newServerMailer(s *server, w writer) *Mailer {
	return &Mailer{writer: w, deliver: s.deliver, queue: newQueue(s.deliver)}
}

// SendSignInLink sends a sign-in link that is valid until the given time. It
// does not wait for a mail server: Run delivers the email, and retries until
// that time.
func (m *Mailer) SendSignInLink(ctx context.Context, to, link string, until time.Time) error {
	l := m.writer.signInLink(to, link, until)
	if m.queue == nil {
		return m.deliver(ctx, l)
	}
	if _, err := l.message(gomail.NoEncoding, l.named); err != nil {
		return err
	}
	return m.queue.add(l)
}

// SendBotPaused tells an owner that the arena has paused a bot. The parameter page is
// the URL at which the owner can unpause the bot. SendBotPaused returns once the email
// is delivered. If the same email is sent again, it has the same id, so mail programs
// and the folder show it only once.
func (m *Mailer) SendBotPaused(ctx context.Context, to string, b owner.Bot, page string) error {
	return m.deliver(ctx, m.writer.botPaused(to, b, page))
}

// SendKeyMoved tells an owner that a key moved to another account. The parameter page
// is the URL at which the owner can register another key. In all other respects,
// SendKeyMoved is like SendBotPaused.
func (m *Mailer) SendKeyMoved(ctx context.Context, to string, k owner.Key, page string) error {
	return m.deliver(ctx, m.writer.keyMoved(to, k, page))
}

// SendBotHealth tells an owner that a bot is failing or unreachable, or that it has
// recovered. site is the URL of the arena, without a slash at its end. In all other
// respects, SendBotHealth is like SendBotPaused.
func (m *Mailer) SendBotHealth(ctx context.Context, to string, b owner.Bot, h health.Bot, site string) error {
	return m.deliver(ctx, m.writer.botHealth(to, b, h, site))
}

// Run delivers the queued emails until ctx ends. After that, it spends a few seconds
// trying to deliver each remaining email once more.
func (m *Mailer) Run(ctx context.Context, logger *slog.Logger) {
	if m.queue != nil {
		m.queue.run(ctx, logger)
	}
}
