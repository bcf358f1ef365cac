package mail

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// letter is a mail that is not encoded yet.
type letter struct {
	id      string // stays the same if the mail is sent again
	from    string
	to      string
	subject string
	text    string
	named   time.Time // in the file name in a folder
	until   time.Time // after this time it is not sent any more
}

// writer composes letters.
type writer struct {
	from string
	now  func() time.Time
}

// signInLink returns the mail with a sign-in link. The link is alone on its line, so
// that programs can find it.
func (w writer) signInLink(to, link string, until time.Time) letter {
	return letter{
		id: rand.Text(), from: w.from, to: to, subject: "Sign in to Hex Arena",
		text:  fmt.Sprintf(signInText, link, until.UTC().Format(shownTime)),
		named: w.now(), until: until,
	}
}

const shownTime = "2006-01-02 15:04 MST"

const signInText = `Someone, hopefully you, asked to sign in to Hex Arena with this address.
Open this link and press the button on the page:

%s

The link works once, until %s. If it was not you, ignore this mail:
nobody can sign in without the link.
`

// botPaused returns the mail about a bot that has missed its matches for a week.
func (w writer) botPaused(to string, b BotPaused) letter {
	at := b.At.UTC()
	return letter{
		id: fmt.Sprintf("paused.%s.%d", b.BotID, at.UnixMilli()), from: w.from, to: to, subject: "Hex Arena has paused your bot",
		text:  fmt.Sprintf(botPausedText, b.Name, b.Mode, at.Format(shownTime), b.Page, b.BotID),
		named: at,
	}
}

const botPausedText = `Hex Arena has paused one of your bots, because it has not answered in any of
its matches for a week:

Bot: %s (%s)
Paused: %s

It keeps its rating and its matches. When it runs again, set its status to
"active" on this page, and it gets a table within about 30 seconds:

%s

Its id is %s.
`

// message encodes a letter. It rejects an address that contains line breaks or is
// more than one address, so that nobody can add headers or recipients.
func (l letter) message(encoding gomail.Encoding, now time.Time) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithEncoding(encoding), gomail.WithNoDefaultUserAgent())
	if err := m.From(l.from); err != nil {
		return nil, fmt.Errorf("mail from %q: %w", l.from, err)
	}
	// The error of the parser contains the address, so it is not wrapped.
	if _, err := mail.ParseAddress(l.to); err != nil || strings.ContainsAny(l.to, "\r\n\x00") || m.To(l.to) != nil {
		return nil, errors.New("the recipient is not a mail address")
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
