package notices

import (
	"context"
	"time"

	domain "hexarena/domain/health"
	"hexarena/domain/owner"
	"hexarena/projections/health"
)

// topic is what an email is about.
type topic interface {
	// decide returns the events that must be stored before the email is sent.
	decide(a owner.Account, now time.Time) []owner.Event
	// The method since() returns the time of the change that the email is about. It
	// returns false if the owner should not receive an email.
	since(a owner.Account, now time.Time) (time.Time, bool)
	// current reports whether the change is still the latest one. The notices before this
	// one may have waited a long time for the mail server. send calls it before mail.
	current(h Health) (bool, error)
	mail(ctx context.Context, n *Notifier, to string, a owner.Account) error
	record(a owner.Account) []owner.Event
	correlation() string
}

// pausedBot is the id of a bot that the arena paused.
type pausedBot string

func (pausedBot) decide(owner.Account, time.Time) []owner.Event { return nil }

func (id pausedBot) since(a owner.Account, _ time.Time) (time.Time, bool) {
	b, ok := a.Bot(string(id))
	return b.StatusSince, ok && b.NoticeOwed()
}

func (pausedBot) current(Health) (bool, error) { return true, nil } // the account says so

func (id pausedBot) mail(ctx context.Context, n *Notifier, to string, a owner.Account) error {
	b, _ := a.Bot(string(id))
	return n.o.Mailer.SendBotPaused(ctx, to, b, n.dashboard)
}

func (id pausedBot) record(a owner.Account) []owner.Event { return a.NotifyOfMisses(string(id)) }

func (id pausedBot) correlation() string { return "misses of " + string(id) }

// movedKey is the id of a key that another account registered with a proof.
type movedKey string

func (movedKey) decide(owner.Account, time.Time) []owner.Event { return nil }

func (id movedKey) since(a owner.Account, _ time.Time) (time.Time, bool) {
	k, ok := a.Key(string(id))
	return k.RevokedAt, ok && k.NoticeOwed()
}

func (movedKey) current(Health) (bool, error) { return true, nil } // the account says so

func (id movedKey) mail(ctx context.Context, n *Notifier, to string, a owner.Account) error {
	k, _ := a.Key(string(id))
	return n.o.Mailer.SendKeyMoved(ctx, to, k, n.dashboard+"/keys")
}

func (id movedKey) record(a owner.Account) []owner.Event { return a.NotifyOfMovedKey(string(id)) }

func (id movedKey) correlation() string { return "move of key " + string(id) }

// botHealth is a change of a bot's state.
type botHealth struct {
	health.Change
	now domain.Bot // set by current
}

// about returns the kind of the email about the state, or "" if no email is about it.
func (t *botHealth) about() string {
	switch t.State {
	case domain.Failing:
		return owner.AboutFailing
	case domain.Unreachable:
		return owner.AboutUnreachable
	case domain.OK:
		return owner.AboutRecovered
	}
	return ""
}

func (t *botHealth) condition() owner.Condition {
	return owner.Condition{BotID: t.BotID, About: t.about(), Since: t.Since, Trouble: t.Trouble}
}

func (t *botHealth) decide(a owner.Account, now time.Time) []owner.Event {
	return a.DecideMail(t.condition(), now)
}

func (t *botHealth) since(a owner.Account, now time.Time) (time.Time, bool) {
	return t.Since, a.MailOwed(t.condition(), now)
}

func (t *botHealth) current(h Health) (_ bool, err error) {
	t.now, err = h.Of(t.BotID)
	return t.now.Since.Equal(t.Since), err
}

func (t *botHealth) mail(ctx context.Context, n *Notifier, to string, a owner.Account) error {
	b, _ := a.Bot(t.BotID)
	return n.o.Mailer.SendBotHealth(ctx, to, b, t.now, n.site)
}

func (t *botHealth) record(a owner.Account) []owner.Event { return a.NotifyOfHealth(t.condition()) }

func (t *botHealth) correlation() string { return "health of " + t.BotID }
