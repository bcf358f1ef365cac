package accounts

import (
	"context"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// use returns the entry of an account. It stays in the cache until release.
func (a *Accounts) use(ownerID string) *entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.cached[ownerID]
	if ok {
		a.recent.MoveToFront(e.at)
	} else {
		e = &entry{ownerID: ownerID, writing: newLock(), reading: newLock()}
		e.at = a.recent.PushFront(e)
		a.cached[ownerID] = e
	}
	e.users++
	return e
}

// release ends the use of an entry, and evicts the least recently used entries over
// capacity. It also evicts an account that does not exist, because callers can name
// any id.
func (a *Accounts) release(e *entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.users--
	if e.users == 0 && e.next == 0 {
		a.drop(e)
	}
	for at := a.recent.Back(); at != nil && len(a.cached) > a.capacity; {
		oldest := at.Value.(*entry)
		at = at.Prev()
		if oldest.users == 0 {
			a.drop(oldest)
		}
	}
}

// drop evicts an entry. Call it with a.mu held.
func (a *Accounts) drop(e *entry) {
	if a.cached[e.ownerID] == e {
		delete(a.cached, e.ownerID)
		a.recent.Remove(e.at)
	}
}

// set replaces the account, and drops the address if the account no longer exists.
// Call it with Accounts.mu held.
func (e *entry) set(account owner.Account, next eventstore.Revision) {
	e.account, e.next = account, next
	if !account.Exists() {
		e.address = ""
	}
}

// lock is a mutex that can be acquired with a context.
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
