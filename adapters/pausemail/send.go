package pausemail

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"hexarena/domain/owner"
	"hexarena/projections/directory"
)

// Run sends the emails until ctx ends. It begins with the emails that an
// earlier process did not send.
func (p *Pauser) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		p.sendAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (p *Pauser) sendAll(ctx context.Context) {
	owed := p.o.Directory.NoticesOwed()
	slices.SortFunc(owed, func(a, b directory.Bot) int { return cmp.Compare(a.ID, b.ID) })
	for _, b := range owed {
		if ctx.Err() != nil {
			return
		}
		if time.Now().Before(p.retries[b.ID].at) {
			continue
		}
		if err := p.send(ctx, b.OwnerID, b.ID); err != nil {
			p.retryLater(ctx, b.ID, err)
			continue
		}
		delete(p.sent, b.ID)
		delete(p.retries, b.ID)
	}
}

// errLater delays an email because the owner has already received the maximum
// number of emails for one hour.
var errLater = errors.New("the owner has received the maximum number of emails for one hour")

// send sends one email and then records it. If the process ends in between, the
// owner receives the email twice, with the same id. In the opposite order, a
// crash could lose the email.
func (p *Pauser) send(ctx context.Context, ownerID, botID string) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	account, err := p.o.Accounts.Load(ctx, ownerID)
	if err != nil {
		return err
	}
	now := time.Now()
	b, ok := account.Bot(botID)
	if !ok || !b.NoticeOwed() || now.Sub(b.StatusSince) > useless {
		return nil
	}
	if !p.sent[botID].Equal(b.StatusSince) {
		if account.MayNotify(now) != nil {
			return errLater
		}
		address, err := p.o.Accounts.Address(ctx, ownerID)
		if err != nil {
			return err
		}
		if err := p.o.Mailer.SendBotPaused(ctx, address, b, p.page); err != nil {
			return err
		}
		p.sent[botID] = b.StatusSince
	}
	_, _, err = p.o.Accounts.Change(ctx, ownerID, metadata(botID), func(a owner.Account) ([]owner.Event, error) {
		return a.NotifyOfMisses(botID), nil
	})
	return err
}

func (p *Pauser) retryLater(ctx context.Context, botID string, err error) {
	wait := min(max(2*p.retries[botID].wait, firstWait), longWait)
	p.retries[botID] = retry{at: time.Now().Add(wait), wait: wait}
	if !errors.Is(err, errLater) && ctx.Err() == nil {
		p.o.Logger.WarnContext(ctx, "email about a paused bot not sent; retrying", slog.String("bot", botID), slog.Duration("in", wait), slog.Any("error", err))
	}
}
