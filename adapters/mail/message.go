package mail

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// signInLink composes the mail with a link. The link stands on a line of its
// own and is not folded, so that a program finds it as easily as a person.
func signInLink(from, to, link string, now, until time.Time) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithEncoding(gomail.NoEncoding), gomail.WithNoDefaultUserAgent())
	if err := m.From(from); err != nil {
		return nil, fmt.Errorf("mail from %q: %w", from, err)
	}
	if err := m.To(to); err != nil {
		return nil, fmt.Errorf("mail to an address: %w", err)
	}
	m.Subject("Sign in to Hex Arena")
	m.SetDateWithValue(now)
	m.SetMessageIDWithValue(rand.Text() + "@" + domainOf(from))
	text := fmt.Sprintf(signInText, link, until.UTC().Format("2006-01-02 15:04 MST"))
	m.SetBodyString(gomail.TypeTextPlain, strings.ReplaceAll(text, "\n", "\r\n"))
	return m, nil
}

const signInText = `Someone, you we hope, wants to sign in to Hex Arena with this address.
Open this link and press the button on its page:

%s

It works once, until %s. If it was not you, there is nothing to do:
nobody gets in without the link.
`

func domainOf(address string) string {
	_, domain, _ := strings.Cut(address, "@")
	return strings.TrimSuffix(domain, ">")
}
