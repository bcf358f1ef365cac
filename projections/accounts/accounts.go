// Package accounts loads and changes owners' accounts. Folding an account's whole
// stream for each request would cost more than the request itself. So the package
// caches folded accounts and reads only later events.
//
// Load returns an account that is at most [Stale] old. The account includes every Change
// that has returned in this process. Run follows the events of all accounts. While Run is
// running, Load returns cached accounts without reading the log, unless nobody has loaded
// an account for some seconds. Otherwise, each Load reads the log once. Change calls a
// decision function with an account, and appends the returned events at the account's
// revision.
//
// Decisions belong to domain/owner. Callers are responsible for authentication
// and authorization.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Stale is the maximum age of an account that Load returns without reading the
// log.
const Stale = 700 * time.Millisecond

const (
	maxCached   = 16_384 // accounts
	maxAttempts = 20     // how often one Change is attempted while other processes append to the same stream
)

var kind = eventstore.Kind[owner.Account, owner.Event]{Decode: owner.Decode, Evolve: owner.Evolve}

// Accounts caches the most recently used accounts. It is safe for concurrent use.
type Accounts struct {
	log      eventstore.Log
	capacity int
	cache    atomic.Pointer[eventstore.Cache[entry]] // Forget replaces it
	used     chan struct{}                           // has a value after Load, until Run receives it

	mu       sync.Mutex // guards the fields below, and some fields of each entry
	followed span
}

// span is a period during which Run has missed no event.
type span struct{ from, until time.Time }

// entry is one cached account.
type entry struct {
	stream  eventstore.StreamID
	writing *semaphore.Weighted // held by Change, because concurrent changes would only make each other retry
	reading *semaphore.Weighted // held by catchUp, so that concurrent calls wait and share one read

	// Accounts.mu guards the fields below.
	account owner.Account
	next    eventstore.Revision // the first revision that is not folded
	stored  eventstore.Revision // the first revision after the last event that Run has seen
	current time.Time           // a time at which the account included all stored events; zero if unknown
	address string              // the email address; empty if it has not been read yet
}

// New returns Accounts with an empty cache.
func New(log eventstore.Log) *Accounts { return newAccounts(log, maxCached) }

func newAccounts(log eventstore.Log, capacity int) *Accounts {
	a := &Accounts{log: log, capacity: capacity, used: make(chan struct{}, 1)}
	a.Forget()
	return a
}

// Forget drops all cached accounts. Call it if the log has lost events that the accounts
// may include.
func (a *Accounts) Forget() {
	a.cache.Store(eventstore.NewCache(a.capacity, newEntry, a.weigh))
}

func newEntry(stream eventstore.StreamID) *entry {
	return &entry{stream: stream, writing: semaphore.NewWeighted(1), reading: semaphore.NewWeighted(1)}
}

// weigh returns 1 for an account that exists, and 0 for one that does not. Clients
// can send any id, so the cache must not keep accounts that do not exist.
func (a *Accounts) weigh(e *entry) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int(min(e.next, 1))
}

// Load returns an owner's account, or the zero Account if the account does not
// exist.
func (a *Accounts) Load(ctx context.Context, ownerID string) (owner.Account, error) {
	now := time.Now()
	e, release := a.cache.Load().Use(streamOf(ownerID))
	defer release()
	account, fresh := a.fresh(e, now)
	// This wakes Run, in case it looks for new events less often. If it came before the
	// check above, chance would decide whether Load or Run reads the log.
	select {
	case a.used <- struct{}{}:
	default:
	}
	if fresh {
		return account, nil
	}
	account, _, err := a.catchUp(ctx, e, now)
	return account, err
}

// Reload returns the current state of an owner's account. Unlike Load, it always
// reads the log.
func (a *Accounts) Reload(ctx context.Context, ownerID string) (owner.Account, error) {
	e, release := a.cache.Load().Use(streamOf(ownerID))
	defer release()
	account, _, err := a.catchUp(ctx, e, time.Now())
	return account, err
}

// Change calls decide with an owner's account, and appends the returned events. It
// returns the new account and the position of the last event, or 0 if there are no
// events. Change may call decide more than once. If decide returns an error for a
// cached account, Change reads the log and calls decide again. Change returns an
// error from decide unchanged.
func (a *Accounts) Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error) {
	e, release := a.cache.Load().Use(streamOf(ownerID))
	defer release()
	if err := e.writing.Acquire(ctx, 1); err != nil {
		return owner.Account{}, 0, fmt.Errorf("change %s: %w", e.stream, err)
	}
	defer e.writing.Release(1)
	account, next := a.state(e)
	read := false // Change returns an error from decide only if this call has read the log
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
			if !eventstore.IsWrongVersion(err) || try >= maxAttempts {
				return after, position, err
			}
		}
	}
}

// The method append() appends events to an account. The parameter next is the revision
// of the first of these events.
func (a *Accounts) append(ctx context.Context, e *entry, account owner.Account, next eventstore.Revision, events []owner.Event, m eventstore.Metadata) (owner.Account, eventstore.Position, error) {
	expected := eventstore.NoStream
	if next > 0 {
		expected = eventstore.At(next - 1)
	}
	began := time.Now()
	account, appended, err := kind.Append(ctx, a.log, e.stream, expected, m, account, events)
	if err != nil {
		a.invalidate(e, err)
		return account, 0, err
	}
	a.advance(e, account, appended.Revision+1, began)
	return account, appended.Position, nil
}

// Address returns the email address of an account. It caches the address, which
// never changes while the account exists. It returns an error if the log contains
// no address.
func (a *Accounts) Address(ctx context.Context, ownerID string) (string, error) {
	e, release := a.cache.Load().Use(streamOf(ownerID))
	defer release()
	a.mu.Lock()
	address := e.address
	a.mu.Unlock()
	if address != "" {
		return address, nil
	}
	address, err := a.readAddress(ctx, ownerID)
	a.mu.Lock()
	defer a.mu.Unlock()
	e.address = address
	return address, err
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
	return "", fmt.Errorf("%s contains no address", stream)
}

// errGap means that the cached account does not match the stream, for example
// because the log was restored from a backup.
var errGap = errors.New("the event does not follow the last folded event")

// catchUp folds the events that were stored since the last fold. If another
// call's read began after the given time, catchUp uses that call's result
// instead of reading again.
func (a *Accounts) catchUp(ctx context.Context, e *entry, since time.Time) (owner.Account, eventstore.Revision, error) {
	if err := e.reading.Acquire(ctx, 1); err != nil {
		return owner.Account{}, 0, fmt.Errorf("read %s: %w", e.stream, err)
	}
	defer e.reading.Release(1)
	a.mu.Lock()
	account, next, done := e.account, e.next, e.current.After(since)
	a.mu.Unlock()
	if done {
		return account, next, nil
	}
	began := time.Now()
	account, next, err := a.read(ctx, e.stream, account, next)
	if errors.Is(err, errGap) {
		account, next, err = a.read(ctx, e.stream, owner.Account{}, 0)
	}
	if err != nil {
		return owner.Account{}, 0, err
	}
	a.advance(e, account, next, began)
	return account, next, nil
}

// The method read() folds the events of an account, starting at the revision in the
// parameter next.
func (a *Accounts) read(ctx context.Context, id eventstore.StreamID, account owner.Account, next eventstore.Revision) (owner.Account, eventstore.Revision, error) {
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

// state returns the cached account and the first revision that is not folded into
// it.
func (a *Accounts) state(e *entry) (owner.Account, eventstore.Revision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return e.account, e.next
}

// The method fresh() returns the cached account, and reports whether the account is at
// most Stale old. The account is fresh if it was current at some time after Run began
// to follow the log, and if Run is at most Stale behind the log.
func (a *Accounts) fresh(e *entry, now time.Time) (owner.Account, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	followed := !a.followed.from.IsZero() && e.current.After(a.followed.from) && now.Sub(a.followed.until) <= Stale
	return e.account, followed && e.next >= e.stored
}

// advance replaces the cached account, unless a later state is cached. The parameter
// current is a time at which the new account included all events.
func (a *Accounts) advance(e *entry, account owner.Account, next eventstore.Revision, current time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if next < e.next {
		return
	}
	e.set(account, next)
	if current.After(e.current) {
		e.current = current
	}
}

// invalidate makes the next Load read the log, because a failed append may have
// been stored. If the cached account is ahead of its stream, invalidate drops
// the account.
func (a *Accounts) invalidate(e *entry, err error) {
	var wrong *eventstore.WrongVersionError
	a.mu.Lock()
	defer a.mu.Unlock()
	e.current = time.Time{}
	if errors.As(err, &wrong) && wrong.Current < eventstore.Expected(e.next)-1 {
		e.set(owner.Account{}, 0)
		e.stored = 0
	}
}

// The method set() replaces the account. If the account no longer exists, it drops the
// address. The caller must hold Accounts.mu.
func (e *entry) set(account owner.Account, next eventstore.Revision) {
	e.account, e.next = account, next
	if !account.Exists() {
		e.address = ""
	}
}

func streamOf(ownerID string) eventstore.StreamID {
	return eventstore.StreamID(owner.AccountStream(ownerID))
}
