package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	netmail "net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hexarena/adapters/client"
)

// account as the arena answers it.
type accountAnswer struct{ ID, Name, Email string }

func (a accountAnswer) handle() string {
	if a.Name == "" {
		return "no handle yet: arena me --handle NAME"
	}
	return "@" + a.Name
}

type signInCmd struct {
	remote
	Email   string `arg:"" help:"Your address."`
	Link    string `arg:"" optional:"" help:"The link of a mail that you have, or its token; else one is mailed, and asked for."`
	MailDir string `placeholder:"DIR" help:"Take the link from the arena's folder of mails: for development."`
}

// Run signs in by a link: the one that is given, or that of a new mail.
func (c signInCmd) Run(ctx context.Context, s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	link := c.Link
	if link == "" {
		if _, err := v.call(ctx, http.MethodPost, "/sign-in", map[string]string{"email": c.Email}); err != nil {
			return err
		}
		if link, err = c.mailed(s); err != nil {
			return err
		}
	}
	token, err := tokenOf(link)
	if err != nil {
		return err
	}
	answer, err := v.call(ctx, http.MethodPost, "/sign-in/confirm", map[string]string{"token": token})
	if err != nil {
		return err
	}
	session := slices.IndexFunc(answer.Cookies, func(k *http.Cookie) bool { return strings.HasSuffix(k.Name, "session") })
	if session < 0 {
		return fmt.Errorf("%s has set no session", v.base)
	}
	cookie := answer.Cookies[session]
	v.mine.Session, v.profile.Arena = cookie.Name+"="+cookie.Value, v.base
	if err := v.profile.save(); err != nil {
		return fmt.Errorf("the session is not remembered: %w", err)
	}
	return show(v, answer, func(w io.Writer, a accountAnswer) {
		fmt.Fprintf(w, "signed in at %s as %s (%s)\n", v.base, client.OneLine(a.Email), a.handle())
	})
}

// mailed is the link of the mail that was just sent.
func (c signInCmd) mailed(s streams) (string, error) {
	if c.MailDir != "" {
		return mailedToken(c.MailDir, c.Email)
	}
	fmt.Fprintf(s.err, "A link is on its way to %s. It works once, for 15 minutes.\nPaste it here: ", client.OneLine(c.Email))
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(s.err)
		return "", fmt.Errorf("no link was given: arena sign-in %s LINK goes on from here", c.Email)
	}
	return strings.TrimSpace(line), nil
}

// tokenOf is the token of a link, or what stands for one by itself.
func tokenOf(link string) (string, error) {
	link = strings.TrimSpace(link)
	if !strings.Contains(link, "://") {
		return link, nil
	}
	u, err := url.Parse(link)
	if err != nil || u.Query().Get("token") == "" {
		return "", errors.New("this is no sign-in link: it ends in ?token=…")
	}
	return u.Query().Get("token"), nil
}

// linkPattern finds the token of a sign-in link in a mail.
var linkPattern = regexp.MustCompile(`/sign-in/confirm\?token=([A-Za-z0-9_%.~-]+)`)

// mailedToken reads the token of the newest sign-in mail to an address.
func mailedToken(folder, address string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.eml"))
	if err != nil {
		return "", err
	}
	slices.Sort(files) // names sort by time
	for _, file := range slices.Backward(files) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if link := linkPattern.FindSubmatch(text); link != nil && isTo(text, address) {
			return url.QueryUnescape(string(link[1]))
		}
	}
	return "", fmt.Errorf("no sign-in mail to %s is in %s", address, folder)
}

func isTo(mail []byte, address string) bool {
	m, err := netmail.ReadMessage(bytes.NewReader(mail))
	if err != nil {
		return false
	}
	to, err := m.Header.AddressList("To")
	return err == nil && len(to) == 1 && strings.EqualFold(to[0].Address, address)
}

type signOutCmd struct{ remote }

// Run ends the session at the arena, and forgets it here in any case.
func (c signOutCmd) Run(ctx context.Context, s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	session := v.mine.Session
	if session == "" {
		return fmt.Errorf("not signed in at %s", v.base)
	}
	v.mine.Session = ""
	if err := v.profile.save(); err != nil {
		return err
	}
	_, err = v.callAs(ctx, client.Options{Session: session}, http.MethodPost, "/sign-out", nil)
	var refusal *client.Refusal
	if errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized {
		return nil // it had ended before
	}
	return err
}

type meCmd struct {
	signed
	Handle string `placeholder:"NAME" help:"Choose this public handle: 3 to 20 of a–z, 0–9, - and _."`
}

// Run shows the account, with the handle that was chosen.
func (c meCmd) Run(ctx context.Context, s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	var answer client.Answer
	if c.Handle != "" {
		answer, err = v.call(ctx, "account.write", http.MethodPatch, "/me", map[string]string{"name": c.Handle})
	} else {
		answer, err = v.call(ctx, "account.read", http.MethodGet, "/me", nil)
	}
	if err != nil {
		return err
	}
	return show(v.visit, answer, func(w io.Writer, a accountAnswer) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", a.handle(), client.OneLine(a.Email), a.ID)
	})
}
