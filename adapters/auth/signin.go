package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// confirmPath is the path of a sign-in link. The web page at this path has a
// button that posts the token.
const confirmPath = "/sign-in/confirm"

// SendLink emails a sign-in link to an address, whether or not an account uses that
// address. It neither reads the log nor appends to it. As a result, strangers cannot
// fill the log, and a request takes the same time for every address. network identifies
// the network from which the request r came.
//
// If the requester or the address has reached its link limit, SendLink sends nothing.
// If the email cannot be sent, SendLink only logs the failure. In both cases it returns
// no error, so that callers learn nothing about an address. If the address is invalid,
// the error is an owner.InvalidError.
func (s *Service) SendLink(ctx context.Context, r *http.Request, network, address string, m eventstore.Metadata) error {
	address, err := ParseAddress(address)
	if err != nil {
		return err
	}
	allowance, requester := "strangers", network
	if id, ok := s.knownBrowser(r, address, m.At); ok {
		allowance, requester = "browsers", id
	}
	if !s.links.take(foldASCII(address), allowance, requester, m.At) {
		return nil
	}
	until := m.At.Add(owner.LinkLength)
	link := strings.TrimSuffix(s.options.BaseURL, "/") + confirmPath + "?token=" + url.QueryEscape(s.vault.newToken(address, until))
	if err := s.options.Mailer.SendSignInLink(ctx, address, link, until); err != nil {
		s.options.Logger.ErrorContext(ctx, "could not send a sign-in link", slog.Any("error", err), slog.String("request", m.Correlation))
	}
	return nil
}

// Confirm marks a link's token as used, and starts a session for the account with the
// link's address. If no account has that address, Confirm creates one. It returns the
// account and the session cookie. If a browser sent the request r, a second cookie lets
// the arena recognize the browser at its next sign-in. If several calls confirm one
// link concurrently, only one of them succeeds. If the link has been used, is unknown
// or has expired, the error is owner.ErrLinkInvalid.
func (s *Service) Confirm(ctx context.Context, r *http.Request, token string, m eventstore.Metadata) (owner.Account, []*http.Cookie, error) {
	address, link, err := s.vault.openToken(token)
	if err != nil {
		return owner.Account{}, nil, err
	}
	newOwner := uuid.NewString()
	box, _, err := mailboxes.Handle(ctx, s.options.Log, s.mailbox(address), owner.Mailbox{}, m,
		func(b owner.Mailbox) ([]owner.Event, error) { return b.UseLink(link, newOwner, m.At) })
	if err != nil {
		return owner.Account{}, nil, err
	}
	for range confirmTries {
		account, session, err := s.startSession(ctx, box.OwnerID, address, m)
		if err == nil {
			return account, append([]*http.Cookie{s.sessionCookie(box.OwnerID, session)}, s.browserCookies(r, address, m.At)...), nil
		}
		if !errors.Is(err, owner.ErrOwnerGone) {
			return owner.Account{}, nil, err
		}
		if box, err = s.reclaim(ctx, box.OwnerID, address, m); err != nil {
			return owner.Account{}, nil, err
		}
	}
	return owner.Account{}, nil, owner.ErrLinkInvalid
}

// confirmTries is the maximum number of times that Confirm tries while the account with
// the address is being deleted.
const confirmTries = 3

// reclaim frees an address for a new account if a deleted account still has it. That
// happens if a crash interrupted the deletion.
func (s *Service) reclaim(ctx context.Context, holder, address string, m eventstore.Metadata) (owner.Mailbox, error) {
	account, err := s.options.Accounts.Load(ctx, holder)
	if err != nil {
		return owner.Mailbox{}, err
	}
	if account.Deleted {
		if err := s.release(ctx, account, m); err != nil {
			return owner.Mailbox{}, err
		}
	}
	newOwner := uuid.NewString()
	box, _, err := mailboxes.Handle(ctx, s.options.Log, s.mailbox(address), owner.Mailbox{}, m,
		func(b owner.Mailbox) ([]owner.Event, error) { return b.Claim(newOwner), nil })
	return box, err
}

// startSession starts a session. If the account does not exist, startSession
// stores the address and then creates the account. After a crash between these
// two steps, the next sign-in creates the account. If the account was deleted,
// the error is owner.ErrOwnerGone.
func (s *Service) startSession(ctx context.Context, ownerID, address string, m eventstore.Metadata) (owner.Account, string, error) {
	account, err := s.options.Accounts.Load(ctx, ownerID)
	if err != nil {
		return owner.Account{}, "", err
	}
	if !account.Exists() && !account.Deleted {
		if err := s.setAddress(ctx, ownerID, address, m); err != nil {
			return owner.Account{}, "", err
		}
	}
	token, hash := newSession()
	signIn := owner.SignIn{OwnerID: ownerID, AddressHash: s.vault.addressHash(address), Session: hash, At: m.At}
	account, _, err = s.options.Accounts.Change(ctx, ownerID, m, func(a owner.Account) ([]owner.Event, error) { return a.SignIn(signIn) })
	return account, token, err
}

// setAddress stores an account's address unless the log already contains it.
func (s *Service) setAddress(ctx context.Context, ownerID, address string, m eventstore.Metadata) error {
	stream := addressStream(ownerID)
	err := s.options.Log.SetMetadata(ctx, stream, eventstore.StreamMetadata{MaxCount: 1})
	if errors.Is(err, eventstore.ErrStreamDeleted) {
		return owner.ErrOwnerGone
	}
	if err != nil {
		return fmt.Errorf("set the metadata of %s: %w", stream, err)
	}
	event, err := eventstore.Encode(owner.AddressSet{Address: address}, m)
	if err != nil {
		return err
	}
	_, err = s.options.Log.Append(ctx, stream, eventstore.NoStream, event)
	switch {
	case errors.Is(err, eventstore.ErrStreamDeleted):
		return owner.ErrOwnerGone
	case err != nil && !eventstore.IsWrongVersion(err):
		return fmt.Errorf("append to %s: %w", stream, err)
	}
	return nil
}

// SignOut ends a caller's session. It returns the cookie that makes the browser
// forget the session.
func (s *Service) SignOut(ctx context.Context, c owner.Caller, m eventstore.Metadata) (*http.Cookie, error) {
	_, _, err := s.options.Accounts.Change(ctx, c.OwnerID, m, func(a owner.Account) ([]owner.Event, error) { return a.SignOut(c.Session), nil })
	return s.endedCookie(s.cookieName()), err
}

func (s *Service) mailbox(address string) eventstore.StreamID {
	return eventstore.StreamID(owner.MailboxStream(s.vault.addressHash(address)))
}
