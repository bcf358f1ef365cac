package notices

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"hexarena/domain/owner"
)

// Run sends emails until ctx ends. It begins with the emails that an earlier process
// should have sent but did not.
func (n *Notifier) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		n.sendAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (n *Notifier) sendAll(ctx context.Context) {
	for _, o := range n.owed(ctx) {
		if ctx.Err() != nil {
			return
		}
		if time.Now().Before(n.retries[o.id].at) {
			continue
		}
		if err := n.send(ctx, o); err != nil {
			n.retryLater(ctx, o, err)
			continue
		}
		delete(n.sent, o.id)
		delete(n.retries, o.id)
	}
}

// notice is an email that an owner should receive.
type notice struct {
	ownerID string
	id      string // distinguishes the topics
	topic
}

// The method owed() returns a notice for each entry in the directory's list and for each
// recent change of a bot's health, in a fixed order.
func (n *Notifier) owed(ctx context.Context) []notice {
	bots, keys := n.o.Directory.NoticesOwed()
	var all []notice
	for _, b := range bots {
		all = append(all, notice{b.OwnerID, b.ID, pausedBot(b.ID)})
	}
	for _, k := range keys {
		all = append(all, notice{k.OwnerID, k.ID, movedKey(k.ID)})
	}
	all = append(all, n.changes(ctx)...)
	slices.SortFunc(all, func(a, b notice) int { return cmp.Compare(a.id, b.id) })
	return all
}

// The method changes returns the changes of the last day that an email may be about.
func (n *Notifier) changes(ctx context.Context) (all []notice) {
	now := time.Now()
	list, err := n.o.Health.Changes(ctx, now.Add(-owner.MailWindow))
	if err != nil && ctx.Err() == nil {
		n.o.Logger.WarnContext(ctx, "the health of the bots is unknown; emails about it wait", slog.Any("error", err))
	}
	for _, c := range list {
		t := &botHealth{Change: c}
		if t.about() != "" && now.Sub(c.Since) >= explainTime {
			all = append(all, notice{c.OwnerID, "health of " + c.BotID, t})
		}
	}
	return all
}

// errLater reports that an email must wait because the owner has already received the
// maximum number of emails per hour.
var errLater = errors.New("the owner has already received the maximum number of emails per hour")

// send delivers one email and then records it. If the process ends between the two
// steps, the owner receives the email twice, with the same id. In the opposite order, a
// crash could lose the email.
func (n *Notifier) send(ctx context.Context, o notice) error {
	ctx, cancel := untilSent(ctx)
	defer cancel()
	account, err := n.o.Accounts.Load(ctx, o.ownerID)
	if err != nil {
		return err
	}
	now := time.Now()
	undecided := len(o.decide(account, now)) > 0
	if _, owed := o.since(account, now); !undecided && !owed {
		return nil
	}
	if current, err := o.current(n.o.Health); err != nil || !current {
		return err
	}
	if undecided {
		account, _, err = n.o.Accounts.Change(ctx, o.ownerID, metadata(o.correlation()), func(a owner.Account) ([]owner.Event, error) {
			return o.decide(a, now), nil
		})
		if err != nil {
			return err
		}
	}
	since, ok := o.since(account, now)
	if !ok || now.Sub(since) > useless {
		return nil
	}
	if !n.sent[o.id].Equal(since) {
		if account.MayNotify(now) != nil {
			return errLater
		}
		address, err := n.o.Accounts.Address(ctx, o.ownerID)
		if err != nil {
			return err
		}
		if err := o.mail(ctx, n, address, account); err != nil {
			return err
		}
		n.sent[o.id] = since
	}
	_, _, err = n.o.Accounts.Change(ctx, o.ownerID, metadata(o.correlation()), func(a owner.Account) ([]owner.Event, error) {
		return o.record(a), nil
	})
	return err
}

// untilSent returns a context in which an email can be sent and recorded. The email that
// is being sent when the process stops would otherwise be sent again at the next start.
func untilSent(ctx context.Context) (context.Context, context.CancelFunc) {
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(graceTime, cancel) })
	return sending, func() { stop(); cancel() }
}

func (n *Notifier) retryLater(ctx context.Context, o notice, err error) {
	wait := min(max(2*n.retries[o.id].wait, firstWait), longWait)
	n.retries[o.id] = retry{at: time.Now().Add(wait), wait: wait}
	if !errors.Is(err, errLater) {
		n.o.Logger.WarnContext(ctx, "could not send an email to an owner; retrying", slog.String("about", o.correlation()), slog.Duration("in", wait), slog.Any("error", err))
	}
}
