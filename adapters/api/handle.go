package api

import (
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// handleTries bounds how often a handle is claimed while the same account
// changes it elsewhere.
const handleTries = 5

// chooseHandle claims a handle, names it in the account, and gives up the one
// that it replaces. A claim that a crash leaves behind lapses by itself. Where
// the account has changed its handle to and fro at once, the claim may be given
// up by now, and is made anew.
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
		if stands, err := c.claimStands(handle); stands || err != nil || try == handleTries {
			return account, err
		}
	}
}

func (c *call) claimHandle(handle string) error {
	me := c.caller.OwnerID
	_, _, err := names.Handle(c.ctx, c.server.Log, handleStream(handle), owner.Name{}, c.meta, func(n owner.Name) ([]owner.Event, error) {
		abandoned := false
		if n.Contested(me, c.meta.At) {
			holder, err := c.asStored(n.OwnerID)
			if err != nil {
				return nil, err
			}
			abandoned = !holder.Keeps(handle, c.meta.At)
		}
		return n.Claim(me, c.meta.At, abandoned)
	})
	return err
}

// releaseHandle gives a handle up that the account does not name any more.
func (c *call) releaseHandle(handle string) error {
	me := c.caller.OwnerID
	_, _, err := names.Handle(c.ctx, c.server.Log, handleStream(handle), owner.Name{}, c.meta, func(n owner.Name) ([]owner.Event, error) {
		account, err := c.asStored(me)
		if err != nil || account.Handle == handle {
			return nil, err
		}
		return n.Release(me), nil
	})
	return err
}

// claimStands says whether a handle is the caller's, or of no more use to it.
func (c *call) claimStands(handle string) (bool, error) {
	n, _, err := names.Load(c.ctx, c.server.Log, handleStream(handle), owner.Name{})
	if err != nil || n.OwnerID == c.caller.OwnerID && n.Released.IsZero() {
		return err == nil, err
	}
	account, err := c.asStored(c.caller.OwnerID)
	return err == nil && account.Handle != handle, err
}

// asStored is an account as the log holds it at this moment.
func (c *call) asStored(ownerID string) (owner.Account, error) {
	account, _, err := c.server.Accounts.Change(c.ctx, ownerID, c.meta, func(owner.Account) ([]owner.Event, error) { return nil, nil })
	return account, err
}

func handleStream(handle string) eventstore.StreamID {
	return eventstore.StreamID(owner.HandleStream(handle))
}
