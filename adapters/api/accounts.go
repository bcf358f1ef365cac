package api

import (
	"context"
	"log/slog"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Accounts are the owners' accounts; see projections/accounts.
type Accounts interface {
	// Load returns an account that is never older than the last Change of this
	// process.
	Load(ctx context.Context, ownerID string) (owner.Account, error)
	// Reload returns the account as the log holds it now.
	Reload(ctx context.Context, ownerID string) (owner.Account, error)
	// Change decides on an account and stores the decision at the exact revision.
	// It may call decide more than once.
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
	// Address returns an account's e-mail address.
	Address(ctx context.Context, ownerID string) (string, error)
}

// myAccount is the input of an endpoint that needs the caller's account. find
// stores it in the call.
type myAccount struct{}

func (*myAccount) find(c *call) (err error) {
	c.account, err = c.server.Accounts.Load(c.ctx, c.caller.OwnerID)
	return err
}

// change decides on the caller's account, stores the decision, and waits until
// the directory has it. The caller's credential must be valid at the revision
// that is decided on, so that a revoked one changes nothing.
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

// await waits until the directory has the events up to a position. They are
// stored in any case: a directory that lags delays an answer, but does not
// change it.
func (c *call) await(at eventstore.Position) {
	if at == 0 {
		return
	}
	if err := c.server.Directory.Wait(c.ctx, at); err != nil {
		c.server.Logger.WarnContext(c.ctx, "the directory lags", slog.Any("error", err), slog.String("request", c.meta.Correlation))
	}
}
