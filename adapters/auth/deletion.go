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

const (
	releaseTimeout = 20 * time.Second // time limit for releasing the address and the handle of one account
	finishInterval = time.Minute      // between passes of FinishDeletions
)

// Delete permanently deletes a caller's account. One append removes the account's bots,
// keys and sessions. Then Delete releases the address and the handle. If a crash or an
// outage prevents the release, FinishDeletions releases them later. Delete returns the
// position of the append, and cookies that make the browser forget the session and the
// account. If the caller may not delete the account, the error is
// owner.ErrUnauthenticated or owner.ErrOwnerSuspended.
func (s *Service) Delete(ctx context.Context, c owner.Caller, m eventstore.Metadata) ([]*http.Cookie, eventstore.Position, error) {
	account, position, err := s.options.Accounts.Change(ctx, c.OwnerID, m, func(a owner.Account) ([]owner.Event, error) {
		if err := a.AdmitWrite(c, m.At); err != nil {
			return nil, err
		}
		return a.Delete(), nil
	})
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout) // so that the release continues even if the client disconnects
	defer cancel()
	if err := s.release(ctx, account, m); err != nil {
		s.options.Logger.WarnContext(ctx, "could not release the address and the handle of a deleted account; will retry",
			slog.String("owner", account.ID), slog.Any("error", err), slog.String("request", m.Correlation))
	}
	return []*http.Cookie{s.endedCookie(s.cookieName()), s.endedCookie(s.browserName())}, position, nil
}

// FinishDeletions finishes interrupted deletions, once immediately and then every
// minute until ctx ends. The function deleted returns the ids of the deleted accounts.
func (s *Service) FinishDeletions(ctx context.Context, deleted func() []string) {
	ticker := time.NewTicker(finishInterval)
	defer ticker.Stop()
	seen := map[string]bool{}
	var pending []string
	for {
		before := seen
		seen = map[string]bool{}
		for _, id := range deleted() {
			seen[id] = true
			if !before[id] {
				pending = append(pending, id)
			}
		}
		pending = s.finishAll(ctx, pending)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// finishAll tries to finish the deletions of all given owners. It returns the owners
// for whom this failed.
func (s *Service) finishAll(ctx context.Context, owners []string) (left []string) {
	for _, id := range owners {
		if ctx.Err() != nil {
			return append(left, id)
		}
		if err := s.finish(ctx, id); err != nil {
			left = append(left, id)
			s.options.Logger.WarnContext(ctx, "could not release the address and the handle of a deleted account", slog.String("owner", id), slog.Any("error", err))
		}
	}
	return left
}

// finish completes one deletion. If the address stream has a tombstone, the deletion is
// already complete, because release writes the tombstone last.
func (s *Service) finish(ctx context.Context, ownerID string) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	for _, err := range s.options.Log.Read(ctx, addressStream(ownerID), 0, eventstore.ReadOptions{Limit: 1}) {
		if errors.Is(err, eventstore.ErrStreamDeleted) {
			return nil
		}
	}
	account, err := s.options.Accounts.Load(ctx, ownerID)
	if err != nil || !account.Deleted {
		return err
	}
	return s.release(ctx, account, eventstore.Metadata{At: time.Now(), Correlation: "deletion of " + ownerID})
}

// release frees the mailbox and the handle of a deleted account, and then writes a
// tombstone to the address stream. It is idempotent.
func (s *Service) release(ctx context.Context, a owner.Account, m eventstore.Metadata) error {
	_, _, err := mailboxes.Handle(ctx, s.options.Log, eventstore.StreamID(owner.MailboxStream(a.AddressHash)), owner.Mailbox{}, m,
		func(b owner.Mailbox) ([]owner.Event, error) { return b.Release(a.ID), nil })
	if err != nil {
		return err
	}
	if a.Handle != "" {
		_, _, err := names.Handle(ctx, s.options.Log, eventstore.StreamID(owner.HandleStream(a.Handle)), owner.Name{}, m,
			func(n owner.Name) ([]owner.Event, error) { return n.Release(a.ID), nil })
		if err != nil {
			return err
		}
	}
	stream := addressStream(a.ID)
	if err := s.options.Log.Tombstone(ctx, stream, eventstore.Any); err != nil && !errors.Is(err, eventstore.ErrStreamDeleted) {
		return fmt.Errorf("tombstone %s: %w", stream, err)
	}
	return nil
}

func addressStream(ownerID string) eventstore.StreamID {
	return eventstore.StreamID(owner.AddressStream(ownerID))
}
