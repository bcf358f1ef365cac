// Package pausemail pauses bots for the arena and tells their owners, by one mail
// for each pause. That an owner was told is an event of the account, stored once
// the mail is on its way: a mail that could not be sent is tried again, also
// after a restart, and one that was sent is not sent again.
//
// It knows neither misses nor ladders (the matchmaker says who is to be
// paused), nor how a mail goes.
package pausemail

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/directory"
)

// Accounts are the owners' accounts as the log holds them, and never older than
// a change that this process has made.
type Accounts interface {
	Load(ctx context.Context, ownerID string) (owner.Account, error)
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
	Address(ctx context.Context, ownerID string) (string, error)
}

// Directory finds bots.
type Directory interface {
	Bot(botID string) (directory.Bot, bool)
	// NoticesOwed lists the bots whose owners are still to be told of a pause.
	NoticesOwed() []directory.Bot
}

// Mail is a bot that the arena has paused, for its owner.
type Mail struct {
	BotID string
	Name  string
	Mode  string
	At    time.Time
	Page  string // where its owner unpauses it
}

// Mailer sends notices; it returns once a mail server, or a folder, has one.
type Mailer interface {
	SendBotPaused(ctx context.Context, to string, m Mail) error
}

// Options configure a Pauser; all fields are needed.
type Options struct {
	Accounts  Accounts
	Directory Directory
	Mailer    Mailer
	BaseURL   string
	Logger    *slog.Logger
}

const (
	lookEvery = 30 * time.Second
	tellTime  = 40 * time.Second // for one notice
	// A notice that fails is tried again after a minute, then after twice that
	// and so on; after a week it is of no more use.
	firstPause = time.Minute
	longPause  = time.Hour
	useless    = 7 * 24 * time.Hour
)

// Pauser pauses and tells. It is safe for concurrent use, but for Run, which
// one process on a log runs once.
type Pauser struct {
	o    Options
	page string
	wake chan struct{} // holds an element if a bot was paused just now

	mu   sync.Mutex
	just map[string]string // bot id → owner id, paused just now; guarded by mu

	// What follows belongs to Run.
	sent    map[string]time.Time // bot id → the pause whose mail was sent, and not noted yet
	failing map[string]failure
}

// failure is when a notice is tried again.
type failure struct {
	due   time.Time
	pause time.Duration
}

// New returns a Pauser that does nothing by themselves until Run.
func New(o Options) *Pauser {
	return &Pauser{
		o: o, page: strings.TrimSuffix(o.BaseURL, "/") + "/dashboard", wake: make(chan struct{}, 1),
		just: map[string]string{}, sent: map[string]time.Time{}, failing: map[string]failure{},
	}
}

// PauseForMisses pauses a bot that has missed its matches since a time; one
// whose status has changed since then, or that is removed, is left alone. Run
// tells the owner.
func (n *Pauser) PauseForMisses(ctx context.Context, botID string, since time.Time) error {
	b, ok := n.o.Directory.Bot(botID)
	if !ok {
		return owner.ErrBotUnknown
	}
	m := eventstore.Metadata{At: time.Now(), Correlation: "misses of " + botID}
	_, position, err := n.o.Accounts.Change(ctx, b.OwnerID, m, func(a owner.Account) ([]owner.Event, error) {
		return a.PauseForMisses(botID, since)
	})
	if errors.Is(err, owner.ErrBotUnknown) || (err == nil && position == 0) {
		return nil
	}
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.just[botID] = b.OwnerID
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
	return nil
}
