package mail

import (
	"crypto/rand"
	_ "embed" // the texts
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"hexarena/domain/health"
	"hexarena/domain/owner"
)

// The texts of the emails are format strings for the methods of writer.
var (
	//go:embed sign_in.txt
	signInText string
	//go:embed bot_paused.txt
	botPausedText string
	//go:embed key_moved.txt
	keyMovedText string
	//go:embed bot_failing.txt
	botFailingText string
	//go:embed bot_recovered.txt
	botRecoveredText string
)

// letter is an email that has not been encoded yet.
type letter struct {
	id      string // stays the same if the email is sent again
	from    string
	to      string
	subject string
	text    string
	named   time.Time // the time in the file name, if emails go to a folder
	until   time.Time // after this time, the letter is not sent any more
}

// writer composes letters.
type writer struct {
	from string
	now  func() time.Time
}

// signInLink returns the email with a sign-in link. The link is on a line of its
// own, so that programs can find it.
func (w writer) signInLink(to, link string, until time.Time) letter {
	return letter{
		id: rand.Text(), from: w.from, to: to, subject: "Sign in to Hex Arena",
		text:  fmt.Sprintf(signInText, link, until.UTC().Format(shownTime)),
		named: w.now(), until: until,
	}
}

const shownTime = "2006-01-02 15:04 MST"

// botPaused returns the email about a bot that has missed its matches for a
// week.
func (w writer) botPaused(to string, b owner.Bot, page string) letter {
	at := b.StatusSince.UTC()
	return letter{
		id: fmt.Sprintf("paused.%s.%d", b.ID, at.UnixMilli()), from: w.from, to: to, subject: "Hex Arena has paused your bot",
		text:  fmt.Sprintf(botPausedText, b.Name, b.Mode, at.Format(shownTime), page, b.ID),
		named: at,
	}
}

// keyMoved returns the email about a key that moved to another account.
func (w writer) keyMoved(to string, k owner.Key, page string) letter {
	at := k.RevokedAt.UTC()
	return letter{
		id: fmt.Sprintf("moved.%s.%d", k.ID, at.UnixMilli()), from: w.from, to: to, subject: "Your Hex Arena key moved to another account",
		text:  fmt.Sprintf(keyMovedText, k.Name, at.Format(shownTime), page, k.ID),
		named: at,
	}
}

// botHealth returns the email about a bot whose state has changed.
func (w writer) botHealth(to string, b owner.Bot, h health.Bot, site string) letter {
	l := letter{
		id: fmt.Sprintf("%s.%s.%d", h.State, b.ID, h.Since.UnixMilli()), from: w.from, to: to,
		named: h.Since.UTC(),
	}
	page, settings := site+"/bot/"+b.ID, site+"/dashboard/account#mails"
	if h.State == health.OK {
		l.subject = "Your bot " + b.Name + " plays again"
		l.text = fmt.Sprintf(botRecoveredText, b.Name, b.Mode, minute(h.Trouble), minute(h.Since), page, settings)
		return l
	}
	what, state, see, first := failingWhat, "Failing", failingSee, failingFirst
	if h.State == health.Unreachable {
		what, state, see, first = unreachableWhat, "Unreachable", unreachableSee, fmt.Sprintf(unreachableFirst, b.ID)
	}
	last := ""
	if e := h.LastError; e != nil {
		last = fmt.Sprintf("Latest error, %s: %s (%s)\n", minute(e.At), e.Message, e.Code)
		page += "/log/" + e.MatchID
	} else {
		see = "The bot's page"
	}
	l.subject = "Your bot " + b.Name + " is " + string(h.State)
	l.text = fmt.Sprintf(botFailingText, what, b.Name, b.Mode, state, minute(h.Since), last, see, page, first, site+"/dashboard/bots/"+b.ID, b.ID, b.ID, h.State, settings)
	return l
}

// The parts of the email that differ between failing and unreachable bots: what
// happened, what the first link shows, and what to do first.
const (
	failingWhat  = "Your bot is failing: in each of its last two matches, it resigned after three\nstrikes, or sent no answer at all."
	failingSee   = "See what the arena asked and what the bot answered"
	failingFirst = "- Fix the bot. It keeps getting matches until you pause it."

	unreachableWhat  = "The arena cannot reach your bot: for three decisions in a row, it could not\nopen a connection."
	unreachableSee   = "See the decisions that the bot missed"
	unreachableFirst = "- Check that the bot is running at the address that you registered. It keeps\n" +
		"  getting matches until you pause it. To test the connection, run this command:\n\n" +
		"    arena bots check %s\n"
)

func minute(t time.Time) string { return t.UTC().Format(shownTime) }

// message encodes a letter. It rejects a recipient that contains line breaks or
// more than one address, so that nobody can add headers or recipients.
func (l letter) message(encoding gomail.Encoding, now time.Time) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithEncoding(encoding), gomail.WithNoDefaultUserAgent())
	if err := m.From(l.from); err != nil {
		return nil, fmt.Errorf("mail from %q: %w", l.from, err)
	}
	// The parser's error contains the address, so it is not wrapped.
	if _, err := mail.ParseAddress(l.to); err != nil || strings.ContainsAny(l.to, "\r\n\x00") || m.To(l.to) != nil {
		return nil, errors.New("the recipient is not an email address")
	}
	m.Subject(l.subject)
	m.SetDateWithValue(now)
	m.SetMessageIDWithValue(l.id + "@" + domainOf(l.from))
	m.SetBodyString(gomail.TypeTextPlain, strings.ReplaceAll(l.text, "\n", "\r\n"))
	return m, nil
}

func domainOf(address string) string {
	_, domain, _ := strings.Cut(address, "@")
	return strings.TrimSuffix(domain, ">")
}
