package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

func handleOf(a rest.Account) string {
	if a.Name == "" {
		return "no handle yet: arena me --handle NAME"
	}
	return "@" + a.Name
}

type signInCmd struct {
	target
	Email   string `arg:"" help:"Your email address."`
	Link    string `arg:"" optional:"" help:"A sign-in link from an email, or its token. Without it, the arena sends you a link by email, and this command asks for the link."`
	MailDir string `placeholder:"DIR" help:"For development: take the link from the arena's mail folder."`
}

// Run signs in with the given link. Without a link, it first asks the arena to send
// one by email.
func (c signInCmd) Run(ctx context.Context, s *session, k *kong.Kong) error {
	link := c.Link
	if link == "" {
		if err := c.checkMailDir(); err != nil {
			return err
		}
		if _, err := s.call(ctx, post("", "/sign-in", rest.SignIn{Email: c.Email})); err != nil {
			return err
		}
		var err error
		if link, err = c.mailedLink(k.Stderr); err != nil {
			return err
		}
	}
	token, err := tokenOf(link)
	if err != nil {
		return err
	}
	account, err := ask[rest.Account](ctx, s, post("", "/sign-in/confirm", rest.SignInConfirmation{Token: token}))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(account.Cookies, func(c *http.Cookie) bool { return strings.HasSuffix(c.Name, "session") })
	if i < 0 {
		return fmt.Errorf("%s accepted the link, but set no session cookie", s.base)
	}
	cookie := account.Cookies[i]
	s.mine.Session, s.profile.Arena = cookie.Name+"="+cookie.Value, s.base
	if err := s.profile.save(); err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	return show(s, account, func(w io.Writer, a rest.Account) {
		fmt.Fprintf(w, "signed in at %s as %s (%s)\n", s.base, client.OneLine(a.Email), handleOf(a))
	})
}

// checkMailDir checks the mail folder before the arena sends an email.
func (c signInCmd) checkMailDir() error {
	if c.MailDir == "" {
		return nil
	}
	if info, err := os.Stat(c.MailDir); err != nil || !info.IsDir() {
		return fmt.Errorf("--mail-dir %q is not a folder: give the folder into which the arena writes its emails, or leave out --mail-dir to paste the link", c.MailDir)
	}
	return nil
}

// mailedLink returns the link, or the token, from the email that was just sent.
func (c signInCmd) mailedLink(errOut io.Writer) (string, error) {
	if c.MailDir != "" {
		return MailedToken(c.MailDir, c.Email)
	}
	fmt.Fprintf(errOut, "Check your email. We sent a link to %s. It works only once, and it expires after 15 minutes.\nPaste it here: ", client.OneLine(c.Email))
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(errOut)
		return "", fmt.Errorf("no link was given: run arena sign-in %s LINK to continue", c.Email)
	}
	return strings.TrimSpace(line), nil
}

type signOutCmd struct{ target }

// Run ends the session at the arena. It removes the session from the profile even
// if the arena does not respond.
func (signOutCmd) Run(ctx context.Context, s *session) error {
	cookie := s.mine.Session
	if cookie == "" {
		return fmt.Errorf("not signed in at %s", s.base)
	}
	s.mine.Session = ""
	if err := s.profile.save(); err != nil {
		return err
	}
	_, err := s.callAs(ctx, client.Options{Session: cookie}, post("", "/sign-out", nil))
	var refusal *client.Refusal
	if errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized {
		return nil // the session has already ended
	}
	return err
}

type meCmd struct {
	signed
	Handle string `placeholder:"NAME" help:"Choose this public handle: 3 to 20 characters from a–z, 0–9, - and _."`
}

// Run shows the account. If a handle is given, Run first sets the account's handle.
func (c meCmd) Run(ctx context.Context, s *session) error {
	r := get(owner.AccountRead, "/me")
	if c.Handle != "" {
		r = request{owner.AccountWrite, http.MethodPatch, "/me", rest.AccountPatch{Name: &c.Handle}}
	}
	return askAndShow(ctx, s, r, func(w io.Writer, a rest.Account) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", handleOf(a), client.OneLine(a.Email), a.ID)
	})
}
