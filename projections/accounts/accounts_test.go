package accounts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

func TestMain(m *testing.M) { logtest.VerifyNoLeaks(m) }

// countedLog is a log that counts the reads of streams. Tests can make it
// unavailable.
type countedLog struct {
	*memory.Log
	mu    sync.Mutex
	reads int
	heads int // reads of $all
	away  bool
	lost  bool // whether appends store their events but return an error
}

func newLog() *countedLog { return &countedLog{Log: memory.New()} }

func (l *countedLog) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// The method counted() returns the number of reads that f makes.
func (l *countedLog) counted(f func()) int {
	l.set(func() { l.reads = 0 })
	f()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads
}

// The method probed() returns the number of reads of $all that f makes.
func (l *countedLog) probed(f func()) int {
	l.set(func() { l.heads = 0 })
	f()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heads
}

func (l *countedLog) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		l.mu.Lock()
		l.reads++
		away := l.away
		l.mu.Unlock()
		if away {
			yield(eventstore.Recorded{}, eventstore.ErrUnavailable)
			return
		}
		l.Log.Read(ctx, id, from, o)(yield)
	}
}

func (l *countedLog) ReadAll(ctx context.Context, from eventstore.Position, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		l.mu.Lock()
		l.heads++
		away := l.away
		l.mu.Unlock()
		if away {
			yield(eventstore.Recorded{}, eventstore.ErrUnavailable)
			return
		}
		l.Log.ReadAll(ctx, from, o)(yield)
	}
}

func (l *countedLog) Append(ctx context.Context, id eventstore.StreamID, e eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	l.mu.Lock()
	away, lost := l.away, l.lost
	l.mu.Unlock()
	if away {
		return eventstore.Appended{}, eventstore.ErrUnavailable
	}
	appended, err := l.Log.Append(ctx, id, e, events...)
	if lost && err == nil {
		return eventstore.Appended{}, eventstore.ErrUnavailable
	}
	return appended, err
}

func now() eventstore.Metadata { return eventstore.Metadata{At: time.Now(), Correlation: "test"} }

// The function does() returns a decision function that always returns the given
// events.
func does(events ...owner.Event) func(owner.Account) ([]owner.Event, error) {
	return func(owner.Account) ([]owner.Event, error) { return events, nil }
}

func change(t require.TestingT, a *Accounts, ownerID string, events ...owner.Event) owner.Account {
	account, at, err := a.Change(context.Background(), ownerID, now(), does(events...))
	require.NoError(t, err)
	require.NotZero(t, at)
	return account
}

func load(t require.TestingT, a *Accounts, ownerID string) owner.Account {
	account, err := a.Load(context.Background(), ownerID)
	require.NoError(t, err)
	return account
}

// The function folded() returns the account that results from folding its stream in
// the log.
func folded(t require.TestingT, log eventstore.Log, ownerID string) owner.Account {
	account, _, err := kind.Load(context.Background(), log, streamOf(ownerID), owner.Account{})
	require.NoError(t, err)
	return account
}

func signUp(t require.TestingT, a *Accounts, ownerID string) {
	change(t, a, ownerID, owner.SignedUp{OwnerID: ownerID, AddressHash: "h"})
}

// The function running() starts Run in the synctest bubble. It returns 1 ns after Run's
// first probe, so accounts that are loaded from then on are fresh. Run continues until the
// test ends.
func running(t *testing.T, a *Accounts) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	pass(time.Nanosecond)
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestLoadWithoutRunReadsOnce(t *testing.T) {
	log := newLog()
	a, peer := New(log), New(log)
	signUp(t, peer, "ada")
	for i := range 5 {
		handle := fmt.Sprint("ada-", i)
		change(t, peer, "ada", owner.HandleChosen{Handle: handle})
		require.Equal(t, 1, log.counted(func() { require.Equal(t, handle, load(t, a, "ada").Handle) }))
	}
	require.Equal(t, folded(t, log, "ada"), load(t, a, "ada"))
}

func TestLoadWithRunDoesNotReadACachedAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		a, peer := New(log), New(log)
		signUp(t, peer, "ada")
		running(t, a)
		require.Equal(t, 1, log.counted(func() { load(t, a, "ada") }), "the first Load")
		for range 100 {
			require.Zero(t, log.counted(func() { load(t, a, "ada") }))
			pass(100 * time.Millisecond)
		}

		change(t, peer, "ada", owner.HandleChosen{Handle: "countess"})
		pass(time.Second)
		require.Zero(t, log.counted(func() { require.Equal(t, "countess", load(t, a, "ada").Handle) }), "a peer's change after a second")

		require.Zero(t, log.counted(func() { change(t, a, "ada", owner.HandleChosen{Handle: "ada"}) }), "reads of Change")
		require.Zero(t, log.counted(func() { require.Equal(t, "ada", load(t, a, "ada").Handle) }), "the account after its own Change")
		pass(10 * time.Second)
		require.Equal(t, folded(t, log, "ada"), load(t, a, "ada"))
	})
}

// If nobody loads an account, Run looks for new events less often. The first Load then
// reads the log, and wakes Run.
func TestIdleRunReadsTheLogLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		a, peer := New(log), New(log)
		signUp(t, a, "ada")
		running(t, a)
		busy := log.probed(func() { pass(4 * time.Second) })
		require.InDelta(t, 16, busy, 1)
		pass(5 * time.Second)
		require.LessOrEqual(t, log.probed(func() { pass(time.Minute) }), 13)
		change(t, peer, "ada", owner.HandleChosen{Handle: "lovelace"})
		require.Equal(t, 1, log.counted(func() { require.Equal(t, "lovelace", load(t, a, "ada").Handle) }))
		pass(time.Second)
		require.Zero(t, log.counted(func() { load(t, a, "ada") }))
		change(t, peer, "ada", owner.HandleChosen{Handle: "byron"})
		pass(time.Second)
		require.Zero(t, log.counted(func() { require.Equal(t, "byron", load(t, a, "ada").Handle) }))
	})
}

func TestAccountCachedBeforeRunIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		a, peer := New(log), New(log)
		signUp(t, a, "ada")
		pass(time.Second)
		change(t, peer, "ada", owner.HandleChosen{Handle: "countess"})
		running(t, a)
		require.Equal(t, 1, log.counted(func() { require.Equal(t, "countess", load(t, a, "ada").Handle) }))
		require.Zero(t, log.counted(func() { load(t, a, "ada") }))
	})
}

// A clock may show the same time for this process's change, a peer's later change, and the
// moment at which Run begins to follow the log. Load must then read the log.
func TestAccountOfTheMomentAtWhichRunBeginsIsNotFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		a, peer := New(log), New(log)
		signUp(t, a, "ada")
		change(t, peer, "ada", owner.HandleChosen{Handle: "countess"})
		running(t, a)
		require.Equal(t, "countess", load(t, a, "ada").Handle)
	})
}

func TestLoadReturnsNothingOldDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		a, peer := New(log), New(log)
		signUp(t, a, "ada")
		running(t, a)
		load(t, a, "ada")

		log.set(func() { log.away = true })
		pass(time.Second)
		_, err := a.Load(t.Context(), "ada")
		require.ErrorIs(t, err, eventstore.ErrUnavailable)
		_, _, err = a.Change(t.Context(), "ada", now(), does(owner.HandleChosen{Handle: "x"}))
		require.ErrorIs(t, err, eventstore.ErrUnavailable)

		log.set(func() { log.away = false })
		change(t, peer, "ada", owner.HandleChosen{Handle: "countess"})
		require.Equal(t, "countess", load(t, a, "ada").Handle, "read by Load before the next probe")
		pass(time.Second)
		load(t, a, "ada")
		require.Zero(t, log.counted(func() { load(t, a, "ada") }))
	})
}

func TestLoadReadsAnAppendWhoseAcknowledgementWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		a := New(log)
		signUp(t, a, "ada")
		running(t, a)
		load(t, a, "ada")
		log.set(func() { log.lost = true })
		_, _, err := a.Change(t.Context(), "ada", now(), does(owner.HandleChosen{Handle: "countess"}))
		require.ErrorIs(t, err, eventstore.ErrUnavailable)
		require.Equal(t, "countess", load(t, a, "ada").Handle)
	})
}

func TestChange(t *testing.T) {
	refusal := errors.New("refused")
	log := newLog()
	a, peer := New(log), New(log)

	t.Run("an account that does not exist", func(t *testing.T) {
		_, at, err := a.Change(t.Context(), "eve", now(), func(account owner.Account) ([]owner.Event, error) {
			require.False(t, account.Exists())
			return nil, refusal
		})
		require.Equal(t, refusal, err)
		require.Zero(t, at)
		require.Empty(t, cached(a, "eve"))
	})
	signUp(t, a, "ada")
	t.Run("after an error on a cached account, Change decides on the current one", func(t *testing.T) {
		change(t, peer, "ada", owner.HandleChosen{Handle: "countess"})
		seen := []string{}
		account, at, err := a.Change(t.Context(), "ada", now(), func(account owner.Account) ([]owner.Event, error) {
			seen = append(seen, account.Handle)
			if account.Handle != "countess" {
				return nil, refusal
			}
			return nil, nil
		})
		require.NoError(t, err)
		require.Zero(t, at)
		require.Equal(t, "countess", account.Handle)
		require.Equal(t, []string{"", "countess"}, seen)
	})
	t.Run("if a peer was faster, Change decides again", func(t *testing.T) {
		change(t, peer, "ada", owner.BotRegistered{BotID: "1", Name: "n", Mode: ladder.Standard, URL: "u"})
		account := change(t, a, "ada", owner.HandleChosen{Handle: "ada"})
		require.Len(t, account.Bots, 1)
		require.Equal(t, folded(t, log, "ada"), account)
	})
	t.Run("the wait for another Change ends with the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := a.Change(t.Context(), "ada", now(), func(owner.Account) ([]owner.Event, error) {
			cancel()
			_, _, err := a.Change(ctx, "ada", now(), does())
			return nil, err
		})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestRacingProcessesKeepTheBotLimit(t *testing.T) {
	log := newLog()
	sides := []*Accounts{New(log), New(log)}
	signUp(t, sides[0], "ada")
	var all sync.WaitGroup
	results := make(chan error, 50)
	for i := range 50 {
		all.Go(func() {
			_, _, err := sides[i%2].Change(t.Context(), "ada", now(), func(account owner.Account) ([]owner.Event, error) {
				return account.RegisterBot(fmt.Sprint(i), owner.NewBot{Name: "n", Mode: ladder.Standard, URL: "u"})
			})
			results <- err
		})
	}
	all.Wait()
	close(results)
	stored := 0
	for err := range results {
		if err == nil {
			stored++
			continue
		}
		require.ErrorIs(t, err, owner.ErrBotLimit)
	}
	require.Equal(t, owner.BotLimit, stored)
	require.Len(t, folded(t, log, "ada").Bots, owner.BotLimit)
}

// The function cached() returns which of the given accounts are in the cache.
func cached(a *Accounts, ids ...string) (found []string) {
	for _, id := range ids {
		if _, ok := a.cache.Load().Find(streamOf(id)); ok {
			found = append(found, id)
		}
	}
	return found
}

func TestCacheEvictsLeastRecentlyUsed(t *testing.T) {
	log := newLog()
	a := newAccounts(log, 3)
	for i := range 10 {
		signUp(t, a, fmt.Sprint(i))
		load(t, a, "0")
	}
	require.Equal(t, []string{"0", "8", "9"}, cached(a, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"), "the recently used accounts")
	require.Equal(t, "5", load(t, a, "5").ID)
}

// The cache does not evict an entry during a Change. If it did, another call would
// get a second entry and bypass the lock of that Change.
func TestEntryInUseIsNotEvicted(t *testing.T) {
	log := newLog()
	a := newAccounts(log, 1)
	signUp(t, a, "ada")
	_, _, err := a.Change(t.Context(), "ada", now(), func(owner.Account) ([]owner.Event, error) {
		signUp(t, a, "bob")
		require.Equal(t, []string{"ada"}, cached(a, "ada"))
		return []owner.Event{owner.HandleChosen{Handle: "countess"}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"ada"}, cached(a, "ada", "bob"))
}

func TestAddressIsReadOnce(t *testing.T) {
	log := newLog()
	a := New(log)
	signUp(t, a, "ada")
	_, err := a.Address(t.Context(), "ada")
	require.ErrorContains(t, err, "address-ada contains no address")
	set, err := eventstore.Encode(owner.AddressSet{Address: "ada@example.org"}, now())
	require.NoError(t, err)
	_, err = log.Append(t.Context(), "address-ada", eventstore.NoStream, set)
	require.NoError(t, err)
	for _, reads := range []int{1, 0} {
		require.Equal(t, reads, log.counted(func() {
			address, err := a.Address(t.Context(), "ada")
			require.NoError(t, err)
			require.Equal(t, "ada@example.org", address)
		}))
	}
}

func TestAccountIsFoldedAgainAfterTheLogWasRestored(t *testing.T) {
	log := newLog()
	a := New(log)
	signUp(t, a, "ada")
	change(t, a, "ada", owner.HandleChosen{Handle: "countess"})
	log.set(func() { log.Log = memory.New() })
	other := New(log)
	signUp(t, other, "ada")
	account := change(t, a, "ada", owner.BotRegistered{BotID: "1", Name: "n", Mode: ladder.Standard, URL: "u"})
	require.Empty(t, account.Handle)
	require.Equal(t, folded(t, log, "ada"), account)
}

// Each process sees its own changes immediately, and the changes of the other
// process within a second.
func TestFreshness(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(r, "steps")
		owners := rapid.SliceOfN(rapid.IntRange(0, 2), len(steps), len(steps)).Draw(r, "owners")
		synctest.Test(t, func(t *testing.T) {
			log := newLog()
			a, peer := newAccounts(log, 2), New(log)
			running(t, a)
			changed := map[string]time.Time{} // by account: when a peer last changed it
			for i, step := range steps {
				id := fmt.Sprint("owner-", owners[i])
				event := owner.HandleChosen{Handle: fmt.Sprint("h", i)}
				switch {
				case step < 2:
					require.Equal(t, event.Handle, change(t, a, id, event).Handle)
					require.Equal(t, folded(t, log, id), load(t, a, id), "its own change")
					delete(changed, id)
				case step < 4:
					change(t, peer, id, event)
					changed[id] = time.Now()
				case step < 7:
					pass(time.Duration(step*67) * time.Millisecond)
				case step == 7:
					log.set(func() { log.away = !log.away })
					pass(3 * time.Second)
					log.set(func() { log.away = false })
				default:
					got := load(t, a, id)
					if at, recently := changed[id]; !recently || time.Since(at) >= time.Second {
						require.Equal(t, folded(t, log, id), got, "step %d", i)
					}
				}
			}
		})
	})
}
