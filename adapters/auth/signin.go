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

// ConfirmPath is where a sign-in link points.
const ConfirmPath = "/sign-in/confirm"

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
	link := strings.TrimSuffix(s.baseURL, "/") + ConfirmPath + "?token=" + url.QueryEscape(token)
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
	account, session, err := s.startSession(ctx, box.OwnerID, address, m)
	if err != nil {
		return owner.Account{}, nil, err
	}
	return account, s.sessionCookie(box.OwnerID, session), nil
}

// startSession starts a session, and the account if there is none: also where
// a crash left it claimed but not made. The address is stored before it.
func (s *Service) startSession(ctx context.Context, ownerID, address string, m eventstore.Metadata) (owner.Account, string, error) {
	account, err := s.account(ctx, ownerID)
	if err != nil {
		return owner.Account{}, "", err
	}
	if !account.Exists() {
		if err := s.setAddress(ctx, ownerID, address, m); err != nil {
			return owner.Account{}, "", err
		}
	}
	token, hash := newSession()
	signIn := owner.SignIn{OwnerID: ownerID, AddressHash: s.vault.addressHash(address), Session: hash, At: m.At}
	account, _, err = accounts.Handle(ctx, s.log, eventstore.StreamID(owner.AccountStream(ownerID)), owner.Account{}, m,
		func(a owner.Account) ([]owner.Event, error) { return a.SignIn(signIn), nil })
	return account, token, err
}

// setAddress stores an account's address, unless it is stored.
func (s *Service) setAddress(ctx context.Context, ownerID, address string, m eventstore.Metadata) error {
	stream := eventstore.StreamID(owner.AddressStream(ownerID))
	if err := s.log.SetMetadata(ctx, stream, eventstore.StreamMetadata{MaxCount: 1}); err != nil {
		return fmt.Errorf("set the metadata of %s: %w", stream, err)
	}
	event, err := eventstore.Encode(owner.AddressSet{Address: address}, m)
	if err != nil {
		return err
	}
	if _, err := s.log.Append(ctx, stream, eventstore.NoStream, event); err != nil && !eventstore.IsWrongVersion(err) {
		return fmt.Errorf("append to %s: %w", stream, err)
	}
	return nil
}

// SignOut ends a caller's session, and returns the cookie that makes its
// browser forget it.
func (s *Service) SignOut(ctx context.Context, c owner.Caller, m eventstore.Metadata) (*http.Cookie, error) {
	_, _, err := accounts.Handle(ctx, s.log, eventstore.StreamID(owner.AccountStream(c.OwnerID)), owner.Account{}, m,
		func(a owner.Account) ([]owner.Event, error) { return a.SignOut(c.Session), nil })
	return s.endedCookie(), err
}

func (s *Service) mailbox(address string) eventstore.StreamID {
	return eventstore.StreamID(owner.MailboxStream(s.vault.addressHash(address)))
}
