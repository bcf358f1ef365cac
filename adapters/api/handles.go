package api

import (
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// handleTries is the maximum number of times that chooseHandle tries to claim a handle
// while other calls change the handle of the same account.
const handleTries = 5

// The variable handles loads and changes handle streams.
var handles = eventstore.Kind[owner.Name, owner.Event]{Decode: owner.Decode, Evolve: owner.EvolveName}

// chooseHandle claims a handle, stores it in the account, and releases the
// previous handle. A claim that a crash leaves behind lapses automatically. If
// other calls change the account's handle at the same time, one of them may
// release this claim. In that case, chooseHandle tries again.
func (c *call) chooseHandle(handle string) (owner.Account, error) {
	for try := 1; ; try++ {
		if err := c.claimHandle(handle); err != nil {
			return owner.Account{}, err
		}
		var previous string
		account, err := c.change(func(a owner.Account) ([]owner.Event, error) {
			previous = a.Handle
			return a.ChooseHandle(handle), nil
		})
		if err == nil && previous != "" && previous != handle {
			err = c.releaseHandle(previous)
		}
		if err != nil {
			return account, err
		}
		if settled, err := c.claimSettled(handle); settled || err != nil || try == handleTries {
			return account, err
		}
	}
}

func (c *call) claimHandle(handle string) error {
	me := c.caller.OwnerID
	_, _, err := handles.Handle(c.ctx, c.server.Log, handleStream(handle), owner.Name{}, c.meta, func(n owner.Name) ([]owner.Event, error) {
		abandoned := false
		if n.Contested(me, c.meta.At) {
			holder, err := c.server.Accounts.Reload(c.ctx, n.OwnerID)
			if err != nil {
				return nil, err
			}
			abandoned = n.Abandoned(handle, holder, c.meta.At)
		}
		return n.Claim(me, c.meta.At, abandoned)
	})
	return err
}

// releaseHandle releases a handle unless the account has meanwhile chosen it again.
func (c *call) releaseHandle(handle string) error {
	me := c.caller.OwnerID
	_, _, err := handles.Handle(c.ctx, c.server.Log, handleStream(handle), owner.Name{}, c.meta, func(n owner.Name) ([]owner.Event, error) {
		account, err := c.server.Accounts.Reload(c.ctx, me)
		if err != nil || account.Handle == handle {
			return nil, err
		}
		return n.Release(me), nil
	})
	return err
}

// claimSettled reports whether chooseHandle is done: either the caller owns the handle,
// or the account already has a different handle.
func (c *call) claimSettled(handle string) (bool, error) {
	n, _, err := handles.Load(c.ctx, c.server.Log, handleStream(handle), owner.Name{})
	if err != nil || n.OwnerID == c.caller.OwnerID && n.Released.IsZero() {
		return err == nil, err
	}
	account, err := c.server.Accounts.Reload(c.ctx, c.caller.OwnerID)
	return err == nil && account.Handle != handle, err
}

func handleStream(handle string) eventstore.StreamID {
	return eventstore.StreamID(owner.HandleStream(handle))
}
