// Package notices emails owners about three kinds of changes: the arena paused a bot
// that missed its matches, a key moved to another account, or a bot is failing, is
// unreachable or has recovered. Call [Notifier.Run] to send the emails, and
// [Notifier.PauseForMisses] for each bot that must be paused.
//
// After sending an email, the package stores an event in the account. So it can retry a
// failed email even after a restart, and does not repeat an email that it has recorded.
// Before it sends an email about the health of a bot, it also stores the decision to
// send it (docs/adr/0051-mails-about-health-are-decided-in-the-log.md).
//
// The package does not know which bots miss matches or fail, why a key moves, or how an
// email is delivered. The packages matchmaker, health, auth and mail do that.
package notices

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	domain "hexarena/domain/health"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/directory"
	"hexarena/projections/health"
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
	// NoticesOwed lists the paused bots and the moved keys for which no email
	// has been sent yet.
	NoticesOwed() ([]directory.Bot, []directory.Key)
}

// Health finds bots whose state has changed.
type Health interface {
	// Changes lists the bots that have been in trouble and whose state changed at the
	// given time or later. It includes all events that are in the log. If it would have
	// to wait for them, it returns an error instead.
	Changes(ctx context.Context, since time.Time) ([]health.Change, error)
	// Of returns the health of a bot. It does not wait for the newest events.
	Of(botID string) (domain.Bot, error)
}

// Mailer sends emails. Each method returns once a mail server has accepted the email,
// or once the email is stored in a folder. The parameter page is the URL at which the
// owner can respond to the change, and site is the URL of the arena.
type Mailer interface {
	SendBotPaused(ctx context.Context, to string, b owner.Bot, page string) error
	SendKeyMoved(ctx context.Context, to string, k owner.Key, page string) error
	SendBotHealth(ctx context.Context, to string, b owner.Bot, h domain.Bot, site string) error
}

// Options configure a Notifier. All fields are required.
type Options struct {
	Accounts  Accounts
	Directory Directory
	Health    Health
	Mailer    Mailer
	BaseURL   string
	Logger    *slog.Logger
}

const (
	lookEvery = 30 * time.Second // between checks for unsent emails
	sendTime  = 40 * time.Second // time limit for one email
	graceTime = 5 * time.Second  // time limit for the email that is being sent when Run must stop
	firstWait = time.Minute      // wait before the first retry; it doubles with each failure
	longWait  = time.Hour
	useless   = 7 * 24 * time.Hour // after this time, the email is not sent any more

	// An email about the health of a bot waits until the log explains the latest error
	// (docs/adr/0045-details-of-failures-are-private.md).
	explainTime = 10 * time.Second
)

// Notifier pauses bots and sends emails to owners. All methods except Run are safe
// for concurrent use. Only one process on each log may call Run, and only once.
type Notifier struct {
	o         Options
	site      string
	dashboard string

	// These fields belong to Run. The map keys are the ids of bots and keys.
	sent    map[string]time.Time // id → time of the change whose email was sent but is not recorded yet
	retries map[string]retry     // id → next attempt after a failure
}

type retry struct {
	at   time.Time
	wait time.Duration // wait before this retry
}

// New returns a Notifier. Its Run method sends the emails.
func New(o Options) *Notifier {
	site := strings.TrimSuffix(o.BaseURL, "/")
	return &Notifier{
		o: o, site: site, dashboard: site + "/dashboard",
		sent: map[string]time.Time{}, retries: map[string]retry{},
	}
}

// PauseForMisses pauses a bot that has missed its matches since the given time. It does
// nothing if the bot was removed, or if the bot's status has changed since then.
func (n *Notifier) PauseForMisses(ctx context.Context, botID string, since time.Time) error {
	b, ok := n.o.Directory.Bot(botID)
	if !ok {
		return owner.ErrBotUnknown
	}
	_, _, err := n.o.Accounts.Change(ctx, b.OwnerID, metadata("misses of "+botID), func(a owner.Account) ([]owner.Event, error) {
		return a.PauseForMisses(botID, since)
	})
	if errors.Is(err, owner.ErrBotUnknown) {
		return nil
	}
	return err
}

func metadata(correlation string) eventstore.Metadata {
	return eventstore.Metadata{At: time.Now(), Correlation: correlation}
}
