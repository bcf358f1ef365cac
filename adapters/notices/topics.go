package notices

import (
	"context"
	"time"

	"hexarena/domain/owner"
)

// topic is the bot or key that an email is about.
type topic interface {
	// The method since() returns the time of the change that the email is about. It
	// returns false if the owner should not receive an email.
	since(a owner.Account) (time.Time, bool)
	mail(ctx context.Context, n *Notifier, to string, a owner.Account) error
	record(a owner.Account) []owner.Event
	correlation() string
}

// pausedBot is the id of a bot that the arena paused.
type pausedBot string

func (id pausedBot) since(a owner.Account) (time.Time, bool) {
	b, ok := a.Bot(string(id))
	return b.StatusSince, ok && b.NoticeOwed()
}

func (id pausedBot) mail(ctx context.Context, n *Notifier, to string, a owner.Account) error {
	b, _ := a.Bot(string(id))
	return n.o.Mailer.SendBotPaused(ctx, to, b, n.dashboard)
}

func (id pausedBot) record(a owner.Account) []owner.Event { return a.NotifyOfMisses(string(id)) }

func (id pausedBot) correlation() string { return "misses of " + string(id) }

// movedKey is the id of a key that another account registered with a proof.
type movedKey string

func (id movedKey) since(a owner.Account) (time.Time, bool) {
	k, ok := a.Key(string(id))
	return k.RevokedAt, ok && k.NoticeOwed()
}

func (id movedKey) mail(ctx context.Context, n *Notifier, to string, a owner.Account) error {
	k, _ := a.Key(string(id))
	return n.o.Mailer.SendKeyMoved(ctx, to, k, n.dashboard+"/keys")
}

func (id movedKey) record(a owner.Account) []owner.Event { return a.NotifyOfMovedKey(string(id)) }

func (id movedKey) correlation() string { return "move of key " + string(id) }
