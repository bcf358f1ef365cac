// Package pausemail pauses bots that miss their matches, and mails their owners
// once per pause. Call [Pauser.PauseForMisses] for each bot to pause, and
// [Pauser.Run] to send the mails.
//
// An event of the account records that the mail was sent. The package therefore
// retries a failed mail, even after a restart, and does not repeat a recorded
// one.
//
// It does not know which bots miss matches (the matchmaker does), nor how a mail
// is delivered.
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
	// NoticesOwed lists the paused bots whose owners have not been mailed yet.
	NoticesOwed() []directory.Bot
}

// Mailer sends mails.
type Mailer interface {
	// SendBotPaused returns when a mail server or a folder has the mail. page is the
	// URL of the page on which the owner unpauses the bot.
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
	lookEvery = 30 * time.Second // between checks for unsent mails
	sendTime  = 40 * time.Second // for one mail
	firstWait = time.Minute      // before the first retry; it doubles with each failure
	longWait  = time.Hour
	useless   = 7 * 24 * time.Hour // after this time the mail is no longer sent
)

// Pauser pauses bots and mails their owners. It is safe for concurrent use,
// except Run: only one process per log calls it, and only once.
type Pauser struct {
	o    Options
	page string

	// These fields belong to Run.
	sent    map[string]time.Time // bot id → the pause whose mail was sent, but not recorded yet
	retries map[string]retry     // bot id → the next try after a failure
}

type retry struct {
	at   time.Time
	wait time.Duration // before this retry
}

// New returns a Pauser. Its Run method sends the mails.
func New(o Options) *Pauser {
	return &Pauser{
		o: o, page: strings.TrimSuffix(o.BaseURL, "/") + "/dashboard",
		sent: map[string]time.Time{}, retries: map[string]retry{},
	}
}

// PauseForMisses pauses a bot that has missed its matches since a time. It does
// nothing if the bot was removed or its status has changed since then.
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
