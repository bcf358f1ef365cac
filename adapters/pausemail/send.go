package pausemail

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"hexarena/domain/owner"
)

// Run sends the mails until ctx ends. It begins with those that an earlier
// process has not sent.
func (p *Pauser) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		p.sendAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-p.wake:
		}
	}
}

func (p *Pauser) sendAll(ctx context.Context) {
	unsent := p.unsent()
	for _, botID := range slices.Sorted(maps.Keys(unsent)) {
		if ctx.Err() != nil {
			return
		}
		if time.Now().Before(p.retries[botID].at) {
			continue
		}
		if err := p.send(ctx, unsent[botID], botID); err != nil {
			p.retryLater(ctx, botID, err)
			continue
		}
		p.forget(botID)
	}
}

// unsent returns the owner of each bot that may need a mail. The directory may
// not show the newest pauses yet, so it adds those of this process.
func (p *Pauser) unsent() map[string]string {
	p.mu.Lock()
	unsent := maps.Clone(p.recent)
	p.mu.Unlock()
	for _, b := range p.o.Directory.NoticesOwed() {
		unsent[b.ID] = b.OwnerID
	}
	return unsent
}

// errLater delays a mail because its owner has had enough mails within the hour.
var errLater = errors.New("the owner has received the most mails that one hour allows")

// send sends one mail and then records it. If the process ends in between, the
// owner receives the mail twice, with the same id. In the other order a crash
// could lose the mail.
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
		if err := p.mail(ctx, ownerID, b); err != nil {
			return err
		}
		p.sent[botID] = b.StatusSince
	}
	_, _, err = p.o.Accounts.Change(ctx, ownerID, metadata(botID), func(a owner.Account) ([]owner.Event, error) {
		return a.NotifyOfMisses(botID), nil
	})
	return err
}

func (p *Pauser) mail(ctx context.Context, ownerID string, b owner.Bot) error {
	address, err := p.o.Accounts.Address(ctx, ownerID)
	if err != nil {
		return err
	}
	return p.o.Mailer.SendBotPaused(ctx, address, Mail{BotID: b.ID, Name: b.Name, Mode: b.Mode, At: b.StatusSince, Page: p.page})
}

func (p *Pauser) retryLater(ctx context.Context, botID string, err error) {
	wait := min(max(2*p.retries[botID].wait, firstWait), longWait)
	p.retries[botID] = retry{at: time.Now().Add(wait), wait: wait}
	if !errors.Is(err, errLater) && ctx.Err() == nil {
		p.o.Logger.WarnContext(ctx, "mail about a paused bot not sent; retrying", slog.String("bot", botID), slog.Duration("in", wait), slog.Any("error", err))
	}
}

// forget drops a bot that needs no mail any more.
func (p *Pauser) forget(botID string) {
	delete(p.sent, botID)
	delete(p.retries, botID)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.recent, botID)
}
