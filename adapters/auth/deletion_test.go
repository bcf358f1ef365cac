package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// leaver is an account with all that a deletion has to end.
type leaver struct {
	*fixture
	account owner.Account
	caller  owner.Caller
	signer  signer
}

func newLeaver(t *testing.T) leaver {
	t.Helper()
	f := newFixture(t)
	account, cookie := f.signIn(t, "ada@example.org", 0)
	l := leaver{fixture: f, account: account, signer: signer{"k1", f.addKey(t, account.ID, "k1", owner.BotsWrite)}}
	_, _, err := names.Handle(t.Context(), f.log, "handle-ada", owner.Name{}, now(0),
		func(n owner.Name) ([]owner.Event, error) { return n.Claim(account.ID, noon, false) })
	require.NoError(t, err)
	f.store(t, account.ID, owner.HandleChosen{Handle: "ada"}, owner.BotRegistered{BotID: "b1", Mode: ladder.Standard})
	l.caller, err = f.Verify(t.Context(), withCookies(cookie), nil, now(0))
	require.NoError(t, err)
	return l
}

// requireGone checks that nothing of the account is left to act with, and that
// its address and its names are given up.
func (l leaver) requireGone(t *testing.T) {
	t.Helper()
	account, err := l.accounts.Load(t.Context(), l.account.ID)
	require.NoError(t, err)
	require.True(t, account.Deleted)
	require.Empty(t, account.Bots)
	require.ErrorIs(t, account.Admit(l.caller, noon), owner.ErrUnauthenticated)
	require.False(t, l.runs(t, l.signer.write(noon, "a"), "a", noon))
	for _, err := range l.log.Read(t.Context(), addressStream(l.account.ID), 0, eventstore.ReadOptions{}) {
		require.ErrorIs(t, err, eventstore.ErrStreamDeleted)
	}
	box, _, err := mailboxes.Load(t.Context(), l.log, l.mailbox("ada@example.org"), owner.Mailbox{})
	require.NoError(t, err)
	require.NotEqual(t, l.account.ID, box.OwnerID)
	handle, _, err := names.Load(t.Context(), l.log, "handle-ada", owner.Name{})
	require.NoError(t, err)
	require.False(t, handle.Released.IsZero())
}

func TestDelete(t *testing.T) {
	l := newLeaver(t)
	cookie, position, err := l.Delete(t.Context(), l.caller, now(0))
	require.NoError(t, err)
	require.Equal(t, -1, cookie.MaxAge)
	l.requireGone(t)
	var deletedAt eventstore.Position
	for r, err := range l.log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		if r.Type == "OwnerDeleted" {
			deletedAt = r.Position
		}
	}
	require.Equal(t, deletedAt, position)
	_, _, err = l.Delete(t.Context(), l.caller, now(0))
	require.ErrorIs(t, err, owner.ErrUnauthenticated, "again: the session has ended")

	account, _ := l.signIn(t, "Ada@example.org", time.Minute)
	require.NotEqual(t, l.account.ID, account.ID, "the address may sign up anew")
	require.Empty(t, account.Handle)
	handle, _, err := names.Load(t.Context(), l.log, "handle-ada", owner.Name{})
	require.NoError(t, err)
	_, err = handle.Claim(account.ID, noon.Add(owner.HandleReserved-time.Second), false)
	require.ErrorIs(t, err, owner.ErrHandleTaken, "the handle stays reserved")
}

func TestDeleteRefuses(t *testing.T) {
	l := newLeaver(t)
	_, _, err := l.Delete(t.Context(), owner.Caller{OwnerID: l.account.ID, Session: "another"}, now(0))
	require.ErrorIs(t, err, owner.ErrUnauthenticated)
	l.store(t, l.account.ID, owner.Suspended{Reason: "abuse"})
	_, _, err = l.Delete(t.Context(), l.caller, now(0))
	require.ErrorIs(t, err, owner.ErrOwnerSuspended)
	account, err := l.accounts.Load(t.Context(), l.account.ID)
	require.NoError(t, err)
	require.True(t, account.Exists())
}

// An account that is suspended signs in and out, and its callers are marked.
func TestSuspendedCallers(t *testing.T) {
	l := newLeaver(t)
	require.False(t, l.caller.Suspended)
	l.store(t, l.account.ID, owner.Suspended{Reason: "abuse"})
	_, cookie := l.signIn(t, "ada@example.org", 0)
	caller, err := l.Verify(t.Context(), withCookies(cookie), nil, now(0))
	require.NoError(t, err)
	require.True(t, caller.Suspended)
	caller, err = l.Verify(t.Context(), l.signer.write(noon, "a"), []byte("a"), now(0))
	require.NoError(t, err)
	require.True(t, caller.Suspended)
	_, err = l.SignOut(t.Context(), caller, now(0))
	require.NoError(t, err)
}

// broken is a log whose writes fail from the n-th on, tombstones included, as
// if the process ended there.
type broken struct {
	*memory.Log
	mu   sync.Mutex
	left int
	how  logtest.Fault
}

var errCrash = errors.New("crash")

func (b *broken) write(do func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left--
	switch {
	case b.left > 0:
		return do()
	case b.left == 0 && b.how == logtest.StoredAnyway:
		_ = do()
	}
	return errCrash
}

func (b *broken) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (appended eventstore.Appended, err error) {
	err = b.write(func() (err error) { appended, err = b.Log.Append(ctx, id, expected, events...); return err })
	return appended, err
}

func (b *broken) Tombstone(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected) error {
	return b.write(func() error { return b.Log.Tombstone(ctx, id, expected) })
}

// crashAt deletes the account in a process that ends at its n-th write, and
// says whether the deletion was decided.
func (l leaver) crashAt(t *testing.T, n int, how logtest.Fault) bool {
	t.Helper()
	dying := fixtureOn(t, l.log, false)
	dying.log = nil
	b := &broken{Log: l.log, left: n, how: how}
	dying.Service.log, dying.Service.accounts = b, plainAccounts{b}
	_, _, _ = dying.Delete(t.Context(), l.caller, now(0))
	account, err := l.accounts.Load(t.Context(), l.account.ID)
	require.NoError(t, err)
	return account.Deleted
}

// A deletion writes: that it is, the address's name, the handle's name, the
// tombstone. Wherever it ends, the next start finishes it.
func TestMendAfterACrashAnywhere(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for _, how := range []logtest.Fault{logtest.NotStored, logtest.StoredAnyway} {
			synctest.Test(t, func(t *testing.T) {
				l := newLeaver(t)
				decided := l.crashAt(t, n, how)
				require.Equal(t, n > 1 || how == logtest.StoredAnyway, decided)
				if !decided {
					require.True(t, l.runs(t, l.signer.write(noon, "a"), "a", noon), "nothing happened")
					return
				}
				l.mendOnce(t)
				l.requireGone(t)
				events := strings.Count(l.everything(t), "\n")
				l.mendOnce(t)
				require.Equal(t, events, strings.Count(l.everything(t), "\n"), "once is enough")
			})
		}
	}
}

// mendOnce runs Mend until it waits.
func (l leaver) mendOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Mend(ctx, func(from int) []string { return []string{l.account.ID}[from:] })
	}()
	synctest.Wait()
	cancel()
	<-done
}

// So does whoever signs in with the address: without waiting, and with an
// account of its own.
func TestSignInMendsADeletion(t *testing.T) {
	for n := 2; n <= 5; n++ {
		l := newLeaver(t)
		require.True(t, l.crashAt(t, n, logtest.NotStored))
		account, cookie := l.signIn(t, "ada@example.org", time.Minute)
		require.NotEqual(t, l.account.ID, account.ID)
		_, err := l.Verify(t.Context(), withCookies(cookie), nil, now(time.Minute))
		require.NoError(t, err)
		if n == 2 { // later ones have given the address up by themselves
			l.requireGone(t)
		}
	}
}

// While the log is away Mend goes on trying, and new deletions are found.
func TestMendGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeaver(t)
		require.True(t, l.crashAt(t, 2, logtest.NotStored))
		b := &broken{Log: l.log}
		l.Service.log = b
		deleted := []string{}
		var mu sync.Mutex
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Mend(ctx, func(from int) []string { mu.Lock(); defer mu.Unlock(); return deleted[from:] })
		}()
		synctest.Wait()
		mu.Lock()
		deleted = append(deleted, l.account.ID, "nobody")
		mu.Unlock()
		<-time.After(3 * mendEvery)
		b.mu.Lock()
		b.left = 100
		b.mu.Unlock()
		<-time.After(mendEvery)
		synctest.Wait()
		l.requireGone(t)
		cancel()
		<-done
	})
}

// Deletions and sign-ins race: every session is one of an account that is
// there, and of accounts that are there one has the address.
func TestDeleteRacesSignIn(t *testing.T) {
	l := newLeaver(t)
	var tokens []string
	for range 4 {
		tokens = append(tokens, l.link(t, "ada@example.org", time.Second))
	}
	var wg sync.WaitGroup
	cookies := make(chan string, len(tokens))
	wg.Go(func() {
		_, _, err := l.Delete(t.Context(), l.caller, now(time.Second))
		require.NoError(t, err)
	})
	for _, token := range tokens {
		wg.Go(func() {
			account, cookie, err := l.Confirm(t.Context(), token, now(time.Second))
			if err == nil {
				require.NotEmpty(t, account.ID)
				cookies <- cookie.Value
				return
			}
			require.ErrorIs(t, err, owner.ErrLinkInvalid)
		})
	}
	wg.Wait()
	close(cookies)
	box, _, err := mailboxes.Load(t.Context(), l.log, l.mailbox("ada@example.org"), owner.Mailbox{})
	require.NoError(t, err)
	for value := range cookies {
		r := httptest.NewRequest(http.MethodGet, "/me", nil)
		r.Header.Set("Cookie", "session="+value)
		ownerID, _, _ := strings.Cut(value, ".")
		_, err := l.Verify(t.Context(), r, nil, now(time.Second))
		if ownerID == l.account.ID {
			require.ErrorIs(t, err, owner.ErrUnauthenticated, "it came before the deletion, and ended with it")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, box.OwnerID, ownerID)
	}
	l.requireGone(t)
}
