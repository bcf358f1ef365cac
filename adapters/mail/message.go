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

// letter is a mail, not yet encoded for its way.
type letter struct {
	id      string // the same for the same mail, sent again
	from    string
	to      string
	subject string
	text    string
	named   time.Time // by which a folder names it
	until   time.Time // when it is of no more use
}

// writer writes letters.
type writer struct {
	from string
	now  func() time.Time
}

// signInLink is the mail with a link. The link stands on a line of its own, so
// that a program finds it as easily as a person.
func (w writer) signInLink(to, link string, until time.Time) letter {
	return letter{
		id: rand.Text(), from: w.from, to: to, subject: "Sign in to Hex Arena",
		text:  fmt.Sprintf(signInText, link, until.UTC().Format(shownTime)),
		named: w.now(), until: until,
	}
}

const shownTime = "2006-01-02 15:04 MST"

const signInText = `Someone, you we hope, wants to sign in to Hex Arena with this address.
Open this link and press the button on its page:

%s

It works once, until %s. If it was not you, there is nothing to do:
nobody gets in without the link.
`

// botPaused is the mail about a bot that has missed its matches for a week.
func (w writer) botPaused(to string, b BotPaused) letter {
	at := b.At.UTC()
	return letter{
		id: fmt.Sprintf("paused.%s.%d", b.BotID, at.UnixMilli()), from: w.from, to: to, subject: "Hex Arena has paused your bot",
		text:  fmt.Sprintf(botPausedText, b.Name, b.Mode, at.Format(shownTime), b.Page, b.BotID),
		named: at,
	}
}

const botPausedText = `Hex Arena has paused one of your bots, since for a week it has not answered
in any of its matches:

Bot: %s (%s)
Paused: %s

Its rating and its matches stay. Once it runs again, set its status to
"active", and the next tick seats it:

%s

Its id is %s.
`

// message encodes a letter. An address that could end its header line, or is
// more than one, is an error.
func (l letter) message(encoding gomail.Encoding, now time.Time) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithEncoding(encoding), gomail.WithNoDefaultUserAgent())
	if err := m.From(l.from); err != nil {
		return nil, fmt.Errorf("mail from %q: %w", l.from, err)
	}
	// What the error holds is the address.
	if _, err := mail.ParseAddress(l.to); err != nil || strings.ContainsAny(l.to, "\r\n\x00") || m.To(l.to) != nil {
		return nil, errors.New("mail to what is no address")
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
