package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// How long giving up one account's names may take, and how often Mend looks.
const (
	giveUpTime = 20 * time.Second
	mendEvery  = time.Minute
)

// Delete ends a caller's account for good: its bots, keys and sessions at once,
// in one step; then its address and its handle are given up, which Mend
// finishes where a crash or an outage keeps this call from it. It returns the
// cookie that makes the browser forget the session, and the position of what
// was stored. Its refusals are owner.ErrUnauthenticated and
// owner.ErrOwnerSuspended.
func (s *Service) Delete(ctx context.Context, c owner.Caller, m eventstore.Metadata) (*http.Cookie, eventstore.Position, error) {
	account, position, err := s.accounts.Change(ctx, c.OwnerID, m, func(a owner.Account) ([]owner.Event, error) {
		if err := a.AdmitWrite(c, m.At); err != nil {
			return nil, err
		}
		return a.Delete(), nil
	})
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTime) // who asked may be gone
	defer cancel()
	if err := s.giveUp(ctx, account, m); err != nil {
		s.logger.WarnContext(ctx, "a deleted account still has its address or names; that will be mended",
			slog.String("owner", account.ID), slog.Any("error", err), slog.String("request", m.Correlation))
	}
	return s.endedCookie(), position, nil
}

// Mend finishes deletions that were left half done, at once and then every
// minute until ctx ends. Deleted lists the deleted accounts in a fixed order,
// from the one with a number on.
func (s *Service) Mend(ctx context.Context, deleted func(from int) []string) {
	ticker := time.NewTicker(mendEvery)
	defer ticker.Stop()
	seen := 0
	var pending []string
	for {
		more := deleted(seen)
		seen += len(more)
		pending = s.mendAll(ctx, append(pending, more...))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// mendAll returns those whose deletion could not be finished.
func (s *Service) mendAll(ctx context.Context, owners []string) (left []string) {
	for _, id := range owners {
		if ctx.Err() != nil {
			return append(left, id)
		}
		if err := s.mend(ctx, id); err != nil {
			left = append(left, id)
			s.logger.WarnContext(ctx, "a deleted account still has its address or names", slog.String("owner", id), slog.Any("error", err))
		}
	}
	return left
}

// mend finishes one deletion. The address goes last: without it all is done.
func (s *Service) mend(ctx context.Context, ownerID string) error {
	ctx, cancel := context.WithTimeout(ctx, giveUpTime)
	defer cancel()
	for _, err := range s.log.Read(ctx, addressStream(ownerID), 0, eventstore.ReadOptions{Limit: 1}) {
		if errors.Is(err, eventstore.ErrStreamDeleted) {
			return nil
		}
	}
	account, err := s.accounts.Load(ctx, ownerID)
	if err != nil || !account.Deleted {
		return err
	}
	return s.giveUp(ctx, account, eventstore.Metadata{At: time.Now(), Correlation: "deletion of " + ownerID})
}

// giveUp releases what a deleted account has claimed, and tombstones its
// address. Done again it changes nothing.
func (s *Service) giveUp(ctx context.Context, a owner.Account, m eventstore.Metadata) error {
	_, _, err := mailboxes.Handle(ctx, s.log, eventstore.StreamID(owner.MailboxStream(a.AddressHash)), owner.Mailbox{}, m,
		func(b owner.Mailbox) ([]owner.Event, error) { return b.Release(a.ID), nil })
	if err != nil {
		return err
	}
	if a.Handle != "" {
		_, _, err := names.Handle(ctx, s.log, eventstore.StreamID(owner.HandleStream(a.Handle)), owner.Name{}, m,
			func(n owner.Name) ([]owner.Event, error) { return n.Release(a.ID), nil })
		if err != nil {
			return err
		}
	}
	stream := addressStream(a.ID)
	if err := s.log.Tombstone(ctx, stream, eventstore.Any); err != nil && !errors.Is(err, eventstore.ErrStreamDeleted) {
		return fmt.Errorf("tombstone %s: %w", stream, err)
	}
	return nil
}

func addressStream(ownerID string) eventstore.StreamID {
	return eventstore.StreamID(owner.AddressStream(ownerID))
}
