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

// confirmPath is where a sign-in link points: a page of the arena's with a button
// that has the token posted there.
const confirmPath = "/sign-in/confirm"

// SendLink mails a sign-in link to an address, whether or not an account has
// it. Beyond the limit of links it does nothing, and a mail that cannot be sent
// is logged alone: who asks learns nothing of either. An address that is none is
// an owner.InvalidError.
func (s *Service) SendLink(ctx context.Context, address string, m eventstore.Metadata) error {
	address, err := ParseAddress(address)
	if err != nil {
		return err
	}
	token, hash := s.vault.newToken(address)
	_, _, err = mailboxes.Handle(ctx, s.log, s.mailbox(address), owner.Mailbox{}, m,
		func(b owner.Mailbox) ([]owner.Event, error) { return b.IssueLink(hash, m.At) })
	if errors.Is(err, owner.ErrLinkLimit) {
		return nil
	}
	if err != nil {
		return err
	}
	link := strings.TrimSuffix(s.baseURL, "/") + confirmPath + "?token=" + url.QueryEscape(token)
	if err := s.mailer.SendSignInLink(ctx, address, link, m.At.Add(owner.LinkLength)); err != nil {
		s.logger.ErrorContext(ctx, "a sign-in link was not mailed", slog.Any("error", err), slog.String("request", m.Correlation))
	}
	return nil
}

// Confirm spends a link's token for a session of the account that has claimed
// its address, and makes that account if there is none. It returns the account
// and the session's cookie. Of many that confirm one link at once, one does;
// the others, like those with an unknown or old link, get owner.ErrLinkInvalid.
func (s *Service) Confirm(ctx context.Context, token string, m eventstore.Metadata) (owner.Account, *http.Cookie, error) {
	address, link, err := s.vault.openToken(token)
	if err != nil {
		return owner.Account{}, nil, err
	}
	newOwner := uuid.NewString()
	box, _, err := mailboxes.Handle(ctx, s.log, s.mailbox(address), owner.Mailbox{}, m,
		func(b owner.Mailbox) ([]owner.Event, error) { return b.UseLink(link, newOwner, m.At) })
	if err != nil {
		return owner.Account{}, nil, err
	}
	for range confirmTries {
		account, session, err := s.startSession(ctx, box.OwnerID, address, m)
		if err == nil {
			return account, s.sessionCookie(box.OwnerID, session), nil
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

// confirmTries bounds how often Confirm meets an account that was deleted in
// that very moment.
const confirmTries = 3

// reclaim gives an address that a deleted account still holds, since a crash
// kept it from giving it up, to a new account.
func (s *Service) reclaim(ctx context.Context, gone, address string, m eventstore.Metadata) (owner.Mailbox, error) {
	account, err := s.accounts.Load(ctx, gone)
	if err != nil {
		return owner.Mailbox{}, err
	}
	if account.Deleted {
		if err := s.giveUp(ctx, account, m); err != nil {
			return owner.Mailbox{}, err
		}
	}
	newOwner := uuid.NewString()
	box, _, err := mailboxes.Handle(ctx, s.log, s.mailbox(address), owner.Mailbox{}, m,
		func(b owner.Mailbox) ([]owner.Event, error) { return b.Claim(newOwner), nil })
	return box, err
}

// startSession starts a session, and the account if there is none: also where
// a crash left it claimed but not made. The address is stored before it. That
// the account has been deleted is owner.ErrOwnerGone.
func (s *Service) startSession(ctx context.Context, ownerID, address string, m eventstore.Metadata) (owner.Account, string, error) {
	account, err := s.accounts.Load(ctx, ownerID)
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
	account, _, err = s.accounts.Change(ctx, ownerID, m, func(a owner.Account) ([]owner.Event, error) { return a.SignIn(signIn) })
	return account, token, err
}

// setAddress stores an account's address, unless it is stored.
func (s *Service) setAddress(ctx context.Context, ownerID, address string, m eventstore.Metadata) error {
	stream := addressStream(ownerID)
	err := s.log.SetMetadata(ctx, stream, eventstore.StreamMetadata{MaxCount: 1})
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
	_, err = s.log.Append(ctx, stream, eventstore.NoStream, event)
	switch {
	case errors.Is(err, eventstore.ErrStreamDeleted):
		return owner.ErrOwnerGone
	case err != nil && !eventstore.IsWrongVersion(err):
		return fmt.Errorf("append to %s: %w", stream, err)
	}
	return nil
}

// SignOut ends a caller's session, and returns the cookie that makes its
// browser forget it.
func (s *Service) SignOut(ctx context.Context, c owner.Caller, m eventstore.Metadata) (*http.Cookie, error) {
	_, _, err := s.accounts.Change(ctx, c.OwnerID, m, func(a owner.Account) ([]owner.Event, error) { return a.SignOut(c.Session), nil })
	return s.endedCookie(), err
}

func (s *Service) mailbox(address string) eventstore.StreamID {
	return eventstore.StreamID(owner.MailboxStream(s.vault.addressHash(address)))
}
