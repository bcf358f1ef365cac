package api

import (
	"context"
	"log/slog"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Accounts loads and changes the owners' accounts; see projections/accounts.
type Accounts interface {
	// Load returns an account, including every Change that this process has made.
	Load(ctx context.Context, ownerID string) (owner.Account, error)
	// Reload reads the current state of the account from the log.
	Reload(ctx context.Context, ownerID string) (owner.Account, error)
	// Change calls decide with an account, and appends the returned events at the
	// account's revision. It may call decide more than once.
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
	// Address returns an account's email address.
	Address(ctx context.Context, ownerID string) (string, error)
}

// myAccount is the input of an endpoint that needs the caller's account. find
// stores the account in the call.
type myAccount struct{}

func (*myAccount) find(c *call) (err error) {
	c.account, err = c.server.Accounts.Load(c.ctx, c.caller.OwnerID)
	return err
}

// The method change() calls decide with the caller's account, stores the returned
// events, and waits until the directory includes them. The caller's credential must be
// valid at the revision of that account, so that nobody can change anything with a
// revoked credential.
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

// await waits until the directory includes the events up to a position. The events are
// already stored, so a directory that lags behind delays the response but does not
// change it.
func (c *call) await(at eventstore.Position) {
	if at == 0 {
		return
	}
	if err := c.server.Directory.Wait(c.ctx, at); err != nil {
		c.server.Logger.WarnContext(c.ctx, "the directory has not caught up", slog.Any("error", err), slog.String("request", c.meta.Correlation))
	}
}
