package owner

import (
	"slices"
	"time"
)

// The topics of the emails about the health of a bot.
const (
	AboutFailing     = "failing"
	AboutUnreachable = "unreachable"
	AboutRecovered   = "recovered" // from either of the others
)

// MailKinds lists the kinds of emails that an owner can switch off. Each is a topic.
var MailKinds = []string{AboutFailing, AboutUnreachable, AboutRecovered}

// MailWindow limits the emails about the health of a bot. Within any MailWindow, an
// owner gets at most one email of each kind about a bot. The arena sends no email about
// a change that is older than a MailWindow.
const MailWindow = 24 * time.Hour

// WantsMail reports whether the owner wants the emails of a kind.
func (a Account) WantsMail(kind string) bool { return !slices.Contains(a.mailsOff, kind) }

// SwitchMails switches kinds of emails on or off. A kind that is missing in the
// parameter on does not change.
func (a Account) SwitchMails(on map[string]bool) []Event {
	var events []Event
	for _, kind := range MailKinds {
		if wanted, ok := on[kind]; ok && wanted != a.WantsMail(kind) {
			events = append(events, MailSwitched{About: kind, On: wanted})
		}
	}
	return events
}

// BotMail is an email about the health of a bot.
type BotMail struct {
	About   string
	Since   time.Time // when the bot's state changed
	Trouble time.Time // see Condition
	SentAt  time.Time // zero if the arena does not know that it sent the email
}

// Condition is a state of a bot that its owner may get an email about.
type Condition struct {
	BotID   string
	About   string    // one of MailKinds
	Since   time.Time // when the state began
	Trouble time.Time // when the bot last stopped being ok; with AboutRecovered, it is ok again
}

// DecideMail decides whether the owner gets an email about a bot's condition. It returns
// no event if the decision was made before. If another email of the kind was sent within
// the last MailWindow, the decision must wait. An owner gets an email about a recovery
// only after an email about the same trouble.
func (a Account) DecideMail(c Condition, now time.Time) []Event {
	b, ok := a.mailable(c, now)
	if !ok {
		return nil
	}
	m := b.mail(c.About)
	decided := m.Since.Equal(c.Since)
	early := !m.SentAt.IsZero() && now.Sub(m.SentAt) < MailWindow
	untold := c.About == AboutRecovered && !b.toldOf(c.Trouble)
	if decided || early || untold {
		return nil
	}
	return []Event{BotMailDecided{BotID: b.ID, About: c.About, Since: c.Since.UTC(), Trouble: c.Trouble.UTC()}}
}

// MailOwed reports whether the arena has decided to send an email about a condition,
// and has neither sent it nor become unable to.
func (a Account) MailOwed(c Condition, now time.Time) bool {
	b, ok := a.mailable(c, now)
	m := b.mail(c.About)
	return ok && m.Since.Equal(c.Since) && m.SentAt.IsZero()
}

// NotifyOfHealth records that the owner received the email about a condition. It
// returns no event if the email was recorded before, or if the bot was removed.
func (a Account) NotifyOfHealth(c Condition) []Event {
	b, _ := a.Bot(c.BotID)
	if m := b.mail(c.About); !m.Since.Equal(c.Since) || !m.SentAt.IsZero() {
		return nil
	}
	return []Event{Notified{BotID: c.BotID, About: c.About}}
}

// mailable returns the bot of a condition. It returns false if the owner must not get an
// email about the condition now.
func (a Account) mailable(c Condition, now time.Time) (Bot, bool) {
	b, ok := a.Bot(c.BotID)
	return b, ok && !a.Suspended && !b.Suspended && a.WantsMail(c.About) && now.Sub(c.Since) < MailWindow
}

// mail returns the latest email of a kind.
func (b Bot) mail(kind string) BotMail {
	m, _ := find(b.Mails, func(m BotMail) bool { return m.About == kind })
	return m
}

// toldOf reports whether the owner received an email about a trouble.
func (b Bot) toldOf(trouble time.Time) bool {
	return slices.ContainsFunc(b.Mails, func(m BotMail) bool {
		return m.About != AboutRecovered && m.Trouble.Equal(trouble) && !m.SentAt.IsZero()
	})
}

// setMail replaces the latest email of a kind.
func (b *Bot) setMail(m BotMail) {
	b.Mails = append(without(b.Mails, func(old BotMail) bool { return old.About == m.About }), m)
}

// notify records that the owner received an email.
func (b *Bot) notify(about string, at time.Time) {
	if !slices.Contains(MailKinds, about) {
		b.Notified = true
		return
	}
	if m := b.mail(about); m.About != "" {
		m.SentAt = at
		b.setMail(m)
	}
}
