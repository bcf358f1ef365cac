package api

import (
	"context"
	"log/slog"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Accounts are the owners' accounts as the log holds them, and never older
// than a change that this process has made.
type Accounts interface {
	Load(ctx context.Context, ownerID string) (owner.Account, error)
	// Change decides on an account and stores what was decided at the exact
	// revision; decide may be called more than once.
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
	// Address is an account's e-mail address.
	Address(ctx context.Context, ownerID string) (string, error)
}

var names = eventstore.Kind[owner.Name, owner.Event]{Decode: owner.Decode, Evolve: owner.EvolveName}

// mine is the caller's account.
func (c *call) mine() (owner.Account, error) { return c.server.Accounts.Load(c.ctx, c.caller.OwnerID) }

// change decides on the caller's account, stores what was decided, and waits
// until look-ups find it. The caller's credential must hold at the very
// revision that is decided on: what was revoked meanwhile writes nothing.
func (c *call) change(decide func(owner.Account) ([]owner.Event, error)) (owner.Account, error) {
	account, at, err := c.server.Accounts.Change(c.ctx, c.caller.OwnerID, c.meta,
		func(a owner.Account) ([]owner.Event, error) {
			if err := a.AdmitWrite(c.caller, c.meta.At); err != nil {
				return nil, err
			}
			return decide(a)
		})
	if err != nil {
		return account, err
	}
	c.await(at)
	return account, nil
}

// await waits until look-ups find what was stored. What is stored stays so: a
// directory that lags for long delays an answer, and does not change it.
func (c *call) await(at eventstore.Position) {
	if at == 0 {
		return
	}
	if err := c.server.Directory.Wait(c.ctx, at); err != nil {
		c.server.Logger.WarnContext(c.ctx, "the directory lags", slog.Any("error", err), slog.String("request", c.meta.Correlation))
	}
}
