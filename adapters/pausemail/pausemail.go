// Package pausemail pauses bots that miss their matches, and sends one email to
// the owner for each pause. Call [Pauser.PauseForMisses] for each bot to pause,
// and [Pauser.Run] to send the emails.
//
// An event of the account records that the email was sent. So the package
// retries a failed email, even after a restart, and does not repeat an email
// that was recorded.
//
// The package does not know which bots miss matches, or how an email is
// delivered. The packages matchmaker and mail are responsible for this.
package pausemail

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/directory"
)

// Accounts reads the owners' accounts from the log. A returned account includes
// all changes that this process has made.
type Accounts interface {
	Load(ctx context.Context, ownerID string) (owner.Account, error)
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
	Address(ctx context.Context, ownerID string) (string, error)
}

// Directory finds bots.
type Directory interface {
	Bot(botID string) (directory.Bot, bool)
	// NoticesOwed lists the paused bots for which no email was sent yet.
	NoticesOwed() []directory.Bot
}

// Mailer sends emails.
type Mailer interface {
	// SendBotPaused returns when a mail server or a folder has the email. page is
	// the URL of the web page on which the owner can unpause the bot.
	SendBotPaused(ctx context.Context, to string, b owner.Bot, page string) error
}

// Options configure a Pauser. All fields are required.
type Options struct {
	Accounts  Accounts
	Directory Directory
	Mailer    Mailer
	BaseURL   string
	Logger    *slog.Logger
}

const (
	lookEvery = 30 * time.Second // between checks for unsent emails
	sendTime  = 40 * time.Second // time limit for one email
	firstWait = time.Minute      // before the first retry; the wait doubles with each failure
	longWait  = time.Hour
	useless   = 7 * 24 * time.Hour // after this time the email is no longer sent
)

// Pauser pauses bots and sends emails to their owners. It is safe for
// concurrent use, except for Run. Only one process on each log may call Run,
// and only once.
type Pauser struct {
	o    Options
	page string

	// These fields belong to Run.
	sent    map[string]time.Time // bot id → the time of the pause whose email was sent, but not recorded yet
	retries map[string]retry     // bot id → the next try after a failure
}

type retry struct {
	at   time.Time
	wait time.Duration // before this retry
}

// New returns a Pauser. Its Run method sends the emails.
func New(o Options) *Pauser {
	return &Pauser{
		o: o, page: strings.TrimSuffix(o.BaseURL, "/") + "/dashboard",
		sent: map[string]time.Time{}, retries: map[string]retry{},
	}
}

// PauseForMisses pauses a bot that has missed its matches since a time. It does
// nothing if the bot was removed, or if the bot's status has changed since that
// time.
func (p *Pauser) PauseForMisses(ctx context.Context, botID string, since time.Time) error {
	b, ok := p.o.Directory.Bot(botID)
	if !ok {
		return owner.ErrBotUnknown
	}
	_, _, err := p.o.Accounts.Change(ctx, b.OwnerID, metadata(botID), func(a owner.Account) ([]owner.Event, error) {
		return a.PauseForMisses(botID, since)
	})
	if errors.Is(err, owner.ErrBotUnknown) {
		return nil
	}
	return err
}

func metadata(botID string) eventstore.Metadata {
	return eventstore.Metadata{At: time.Now(), Correlation: "misses of " + botID}
}
