// Package accounts answers with owners' accounts as the log holds them now.
// Folding an account's whole stream at every request would cost more than the
// request: what was folded is kept, and what was stored since is read onto it.
//
// Load returns an account that is at most [Stale] old, and in this process
// never older than a Change that has returned. Without Run each Load is one
// read of the log; with Run, which hears of every account's events, an account
// that is kept costs none. Change decides on an account and stores what was
// decided, at the exact revision.
//
// It knows no caller, no credential and no HTTP; domain/owner decides.
package accounts

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Stale is how old an account may be that Load returns without a read.
const Stale = 700 * time.Millisecond

// keep is how many accounts are kept.
const keep = 16_384

// changeTries bounds how often Change decides anew while others write.
const changeTries = 20

var kind = eventstore.Kind[owner.Account, owner.Event]{Decode: owner.Decode, Evolve: owner.Evolve}

// Accounts keeps accounts that were asked for lately. It is safe for
// concurrent use.
type Accounts struct {
	log  eventstore.Log
	keep int

	mu      sync.Mutex
	kept    map[string]*entry // by owner
	recent  *list.List        // of *entry, the most recently used first
	covered span
}

// span is a time over which Run has heard of every event.
type span struct{ from, until time.Time }

// entry is one account. What follows the locks is guarded by Accounts.mu.
type entry struct {
	ownerID string
	at      *list.Element
	writing lock // one Change at a time: many would only make each other decide anew
	reading lock // one catch-up at a time

	users   int // calls that hold the entry; it is not dropped meanwhile
	account owner.Account
	next    eventstore.Revision // of the first event that is not folded
	heard   eventstore.Revision // behind the last event that Run has heard of
	proven  time.Time           // when nothing but what is folded was stored; zero: unknown
	address string              // empty: not read yet
}

// New returns Accounts that keep nothing yet.
func New(log eventstore.Log) *Accounts {
	return &Accounts{log: log, keep: keep, kept: map[string]*entry{}, recent: list.New()}
}

// Load returns an owner's account; the zero Account for one that nobody has
// signed up for.
func (a *Accounts) Load(ctx context.Context, ownerID string) (owner.Account, error) {
	now := time.Now()
	e := a.use(ownerID)
	defer a.release(e)
	if account, ok := a.fresh(e, now); ok {
		return account, nil
	}
	account, _, err := a.catchUp(ctx, e, now)
	return account, err
}

// Reload returns an owner's account as the log holds it now: unlike Load, it
// always reads.
func (a *Accounts) Reload(ctx context.Context, ownerID string) (owner.Account, error) {
	e := a.use(ownerID)
	defer a.release(e)
	account, _, err := a.catchUp(ctx, e, time.Now())
	return account, err
}

// Change decides on an owner's account, stores what was decided, and returns
// the account after it and the position of what was stored; deciding on
// nothing stores nothing, at position 0. Decide may be called more than once;
// its error, returned as it is, is about an account as the log holds it.
func (a *Accounts) Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error) {
	e := a.use(ownerID)
	defer a.release(e)
	if err := e.writing.acquire(ctx); err != nil {
		return owner.Account{}, 0, fmt.Errorf("change %s: %w", streamOf(ownerID), err)
	}
	defer e.writing.release()
	account, next := a.state(e)
	read := false // within this call, so that a refusal is not for what is past
	for try := 1; ; try++ {
		if next == 0 && !read || try > 1 {
			var err error
			if account, next, err = a.catchUp(ctx, e, time.Now()); err != nil {
				return account, 0, err
			}
			read = true
		}
		events, err := decide(account)
		switch {
		case len(events) == 0 || err != nil:
			if read {
				return account, 0, err
			}
		default:
			after, position, err := a.append(ctx, e, account, next, events, m)
			if !eventstore.IsWrongVersion(err) || try >= changeTries {
				return after, position, err
			}
		}
	}
}

// append stores events behind the account's revision next - 1.
func (a *Accounts) append(ctx context.Context, e *entry, account owner.Account, next eventstore.Revision, events []owner.Event, m eventstore.Metadata) (owner.Account, eventstore.Position, error) {
	expected := eventstore.NoStream
	if next > 0 {
		expected = eventstore.At(next - 1)
	}
	began := time.Now()
	account, appended, err := kind.Append(ctx, a.log, streamOf(e.ownerID), expected, m, account, events)
	if err != nil {
		a.doubt(e, err)
		return account, 0, err
	}
	a.advance(e, account, appended.Revision+1, began)
	return account, appended.Position, nil
}

// Address returns the e-mail address of an account, which never changes while
// there is one; that there is none is an error.
func (a *Accounts) Address(ctx context.Context, ownerID string) (string, error) {
	e := a.use(ownerID)
	defer a.release(e)
	a.mu.Lock()
	address := e.address
	a.mu.Unlock()
	if address != "" {
		return address, nil
	}
	address, err := a.readAddress(ctx, ownerID)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	e.address = address
	return address, nil
}

func (a *Accounts) readAddress(ctx context.Context, ownerID string) (string, error) {
	stream := eventstore.StreamID(owner.AddressStream(ownerID))
	for r, err := range a.log.Read(ctx, stream, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return "", fmt.Errorf("read %s: %w", stream, err)
		}
		event, err := owner.Decode(r.Type, r.Data)
		if err != nil {
			return "", fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
		}
		if set, ok := event.(owner.AddressSet); ok {
			return set.Address, nil
		}
	}
	return "", fmt.Errorf("%s holds no address", stream)
}

// errGap says that a stream does not go on where it was left.
var errGap = errors.New("the stream does not go on where it was left")

// catchUp reads what was stored behind what is folded. A read by another call
// that began after since does as well.
func (a *Accounts) catchUp(ctx context.Context, e *entry, since time.Time) (owner.Account, eventstore.Revision, error) {
	if err := e.reading.acquire(ctx); err != nil {
		return owner.Account{}, 0, fmt.Errorf("read %s: %w", streamOf(e.ownerID), err)
	}
	defer e.reading.release()
	a.mu.Lock()
	account, next, done := e.account, e.next, e.proven.After(since)
	a.mu.Unlock()
	if done {
		return account, next, nil
	}
	began := time.Now()
	account, next, err := a.read(ctx, e.ownerID, account, next)
	if errors.Is(err, errGap) {
		account, next, err = a.read(ctx, e.ownerID, owner.Account{}, 0)
	}
	if err != nil {
		return owner.Account{}, 0, err
	}
	a.advance(e, account, next, began)
	return account, next, nil
}

// read folds the events from a revision on.
func (a *Accounts) read(ctx context.Context, ownerID string, account owner.Account, next eventstore.Revision) (owner.Account, eventstore.Revision, error) {
	id := streamOf(ownerID)
	for r, err := range a.log.Read(ctx, id, next, eventstore.ReadOptions{}) {
		if err != nil {
			return account, next, fmt.Errorf("read %s: %w", id, err)
		}
		if r.Revision != next {
			return account, next, fmt.Errorf("%s@%d: %w", id, r.Revision, errGap)
		}
		if account, err = kind.Fold(account, r); err != nil {
			return account, next, err
		}
		next++
	}
	return account, next, nil
}

// state is what is folded of an account.
func (a *Accounts) state(e *entry) (owner.Account, eventstore.Revision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return e.account, e.next
}

// fresh returns an account that Run has covered since it was last proven.
func (a *Accounts) fresh(e *entry, now time.Time) (owner.Account, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	covered := !a.covered.from.IsZero() && !e.proven.Before(a.covered.from) && now.Sub(a.covered.until) <= Stale
	return e.account, covered && e.next >= e.heard
}

// advance replaces what is folded, unless more is by now.
func (a *Accounts) advance(e *entry, account owner.Account, next eventstore.Revision, proven time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if next < e.next {
		return
	}
	e.hold(account, next)
	if proven.After(e.proven) {
		e.proven = proven
	}
}

// doubt has the next Load read: an append failed, and may have been stored. A
// stream that is behind what is folded of it is folded anew.
func (a *Accounts) doubt(e *entry, err error) {
	var wrong *eventstore.WrongVersionError
	a.mu.Lock()
	defer a.mu.Unlock()
	e.proven = time.Time{}
	if errors.As(err, &wrong) && wrong.Current < eventstore.Expected(e.next)-1 {
		e.hold(owner.Account{}, 0)
		e.heard = 0
	}
}

func streamOf(ownerID string) eventstore.StreamID {
	return eventstore.StreamID(owner.AccountStream(ownerID))
}
