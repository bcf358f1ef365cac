package pausemail

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Run tells owners of pauses until ctx ends, those before a restart first.
func (n *Pauser) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		n.tellAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-n.wake:
		}
	}
}

func (n *Pauser) tellAll(ctx context.Context) {
	owed := n.owed()
	for _, botID := range slices.Sorted(maps.Keys(owed)) {
		if ctx.Err() != nil {
			return
		}
		if f, ok := n.failing[botID]; ok && time.Now().Before(f.due) {
			continue
		}
		if err := n.tell(ctx, owed[botID], botID); err != nil {
			n.failed(ctx, botID, err)
			continue
		}
		n.settled(botID)
	}
}

// owed are the bots whose owners may have to be told: what the directory knows,
// and what it may not know yet.
func (n *Pauser) owed() map[string]string {
	n.mu.Lock()
	owed := maps.Clone(n.just)
	n.mu.Unlock()
	for _, b := range n.o.Directory.NoticesOwed() {
		owed[b.ID] = b.OwnerID
	}
	return owed
}

// errLater says that a notice waits for others to the same owner.
var errLater = errors.New("the owner had as many notices within the hour as it may have")

// tell mails one notice and notes it. The mail goes first: an owner who gets it
// twice, where the process ends between the two, is better off than one who is
// never told; and it is the same mail, by its id.
func (n *Pauser) tell(ctx context.Context, ownerID, botID string) error {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	account, err := n.o.Accounts.Load(ctx, ownerID)
	if err != nil {
		return err
	}
	now := time.Now()
	b, ok := account.Bot(botID)
	if !ok || !b.NoticeOwed() || now.Sub(b.StatusSince) > useless {
		return nil
	}
	if !n.sent[botID].Equal(b.StatusSince) {
		if account.MayNotify(now) != nil {
			return errLater
		}
		if err := n.mail(ctx, ownerID, b); err != nil {
			return err
		}
		n.sent[botID] = b.StatusSince
	}
	m := eventstore.Metadata{At: now, Correlation: "misses of " + botID}
	_, _, err = n.o.Accounts.Change(ctx, ownerID, m, func(a owner.Account) ([]owner.Event, error) {
		return a.NotifyOfMisses(botID), nil
	})
	return err
}

func (n *Pauser) mail(ctx context.Context, ownerID string, b owner.Bot) error {
	address, err := n.o.Accounts.Address(ctx, ownerID)
	if err != nil {
		return err
	}
	return n.o.Mailer.SendBotPaused(ctx, address, Mail{BotID: b.ID, Name: b.Name, Mode: b.Mode, At: b.StatusSince, Page: n.page})
}

func (n *Pauser) failed(ctx context.Context, botID string, err error) {
	f := n.failing[botID]
	f.pause = min(max(2*f.pause, firstPause), longPause)
	f.due = time.Now().Add(f.pause)
	n.failing[botID] = f
	if !errors.Is(err, errLater) && ctx.Err() == nil {
		n.o.Logger.WarnContext(ctx, "an owner was not told of a pause yet", slog.String("bot", botID), slog.Any("error", err))
	}
}

// settled forgets a bot of which there is nothing more to tell.
func (n *Pauser) settled(botID string) {
	delete(n.sent, botID)
	delete(n.failing, botID)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.just, botID)
}
