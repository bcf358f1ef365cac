package accounts

import (
	"context"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// use returns the entry of an account and holds it until release.
func (a *Accounts) use(ownerID string) *entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.kept[ownerID]
	if ok {
		a.recent.MoveToFront(e.at)
	} else {
		e = &entry{ownerID: ownerID, writing: newLock(), reading: newLock()}
		e.at = a.recent.PushFront(e)
		a.kept[ownerID] = e
	}
	e.users++
	return e
}

// release lets an entry go, and drops the ones that are too many. An account
// that does not exist is not kept: anyone may name one.
func (a *Accounts) release(e *entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.users--
	if e.users == 0 && e.next == 0 {
		a.drop(e)
	}
	for at := a.recent.Back(); at != nil && len(a.kept) > a.keep; {
		oldest := at.Value.(*entry)
		at = at.Prev()
		if oldest.users == 0 {
			a.drop(oldest)
		}
	}
}

// drop forgets an entry; a.mu is held.
func (a *Accounts) drop(e *entry) {
	if a.kept[e.ownerID] == e {
		delete(a.kept, e.ownerID)
		a.recent.Remove(e.at)
	}
}

// hold replaces what is folded, and forgets the address of an account that is
// gone; Accounts.mu is held.
func (e *entry) hold(account owner.Account, next eventstore.Revision) {
	e.account, e.next = account, next
	if !account.Exists() {
		e.address = ""
	}
}

// lock is a mutex whose wait ends with a context.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

func (l lock) acquire(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l lock) release() { <-l }
