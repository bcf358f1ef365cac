package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
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

// leaver is an account with a handle, a bot, a key and a session. Deleting the
// account removes all of them.
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

// requireDeleted checks that no credential of the account works, and that the
// account's address and handle are released.
func (l leaver) requireDeleted(t *testing.T) {
	t.Helper()
	account, err := l.options.Accounts.Load(t.Context(), l.account.ID)
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
	cookies, position, err := l.Delete(t.Context(), l.caller, now(0))
	require.NoError(t, err)
	require.Len(t, cookies, 2)
	for i, name := range []string{"session", "browser"} {
		require.Equal(t, name, cookies[i].Name)
		require.Equal(t, -1, cookies[i].MaxAge)
	}
	l.requireDeleted(t)
	var deletedAt eventstore.Position
	for r, err := range l.log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		if r.Type == "OwnerDeleted" {
			deletedAt = r.Position
		}
	}
	require.Equal(t, deletedAt, position)
	_, _, err = l.Delete(t.Context(), l.caller, now(0))
	require.ErrorIs(t, err, owner.ErrUnauthenticated, "the session has ended")

	account, _ := l.signIn(t, "Ada@example.org", time.Minute)
	require.NotEqual(t, l.account.ID, account.ID, "the address can sign up again")
	require.Empty(t, account.Handle)
	handle, _, err := names.Load(t.Context(), l.log, "handle-ada", owner.Name{})
	require.NoError(t, err)
	_, err = handle.Claim(account.ID, noon.Add(owner.HandleReserved-time.Second), false)
	require.ErrorIs(t, err, owner.ErrHandleTaken, "the handle stays reserved")
}

func TestDeleteRejectsOtherSessionsAndSuspendedOwners(t *testing.T) {
	l := newLeaver(t)
	_, _, err := l.Delete(t.Context(), owner.Caller{OwnerID: l.account.ID, Session: "another"}, now(0))
	require.ErrorIs(t, err, owner.ErrUnauthenticated)
	l.store(t, l.account.ID, owner.Suspended{Reason: "abuse"})
	_, _, err = l.Delete(t.Context(), l.caller, now(0))
	require.ErrorIs(t, err, owner.ErrOwnerSuspended)
	account, err := l.options.Accounts.Load(t.Context(), l.account.ID)
	require.NoError(t, err)
	require.True(t, account.Exists())
}

func TestSuspendedOwnerSignsInAndOut(t *testing.T) {
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

// crashingLog is an in-memory log. The field left counts down to the first append or
// tombstone that fails. All later ones fail too, as if the process had crashed. The
// field how says whether the first failed write is stored.
type crashingLog struct {
	*memory.Log
	mu   sync.Mutex
	left int
	how  logtest.Fault
}

var errCrash = errors.New("crash")

func (b *crashingLog) write(do func() error) error {
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

func (b *crashingLog) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (appended eventstore.Appended, err error) {
	err = b.write(func() (err error) { appended, err = b.Log.Append(ctx, id, expected, events...); return err })
	return appended, err
}

func (b *crashingLog) Tombstone(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected) error {
	return b.write(func() error { return b.Log.Tombstone(ctx, id, expected) })
}

// crashAt deletes the account in a process that crashes at its n-th write. It
// reports whether the log contains the deletion.
func (l leaver) crashAt(t *testing.T, n int, how logtest.Fault) bool {
	t.Helper()
	crashing := fixtureOn(t, l.log, false)
	crashing.log = nil
	b := &crashingLog{Log: l.log, left: n, how: how}
	crashing.options.Log, crashing.options.Accounts = b, plainAccounts{b}
	_, _, _ = crashing.Delete(t.Context(), l.caller, now(0))
	account, err := l.options.Accounts.Load(t.Context(), l.account.ID)
	require.NoError(t, err)
	return account.Deleted
}

// A deletion makes four writes: OwnerDeleted, the release of the mailbox, the
// release of the handle, and the tombstone. If the process crashes at any of
// these writes, the next process finishes the deletion when it starts.
func TestFinishDeletionsAfterCrashAtEachWrite(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for _, how := range []logtest.Fault{logtest.NotStored, logtest.StoredAnyway} {
			synctest.Test(t, func(t *testing.T) {
				l := newLeaver(t)
				deleted := l.crashAt(t, n, how)
				require.Equal(t, n > 1 || how == logtest.StoredAnyway, deleted)
				if !deleted {
					require.True(t, l.runs(t, l.signer.write(noon, "a"), "a", noon), "the account still works")
					return
				}
				l.finishOnce(t)
				l.requireDeleted(t)
				events := strings.Count(l.logText(t), "\n")
				l.finishOnce(t)
				require.Equal(t, events, strings.Count(l.logText(t), "\n"), "the second pass stores no event")
			})
		}
	}
}

// finishOnce runs a single pass of FinishDeletions.
func (l leaver) finishOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.FinishDeletions(ctx, func() []string { return []string{l.account.ID} })
	}()
	synctest.Wait()
	cancel()
	<-done
}

// A sign-in with the address of a half-deleted account finishes the deletion and
// creates a new account.
func TestSignInFinishesADeletion(t *testing.T) {
	for n := 2; n <= 5; n++ {
		l := newLeaver(t)
		require.True(t, l.crashAt(t, n, logtest.NotStored))
		account, cookie := l.signIn(t, "ada@example.org", time.Minute)
		require.NotEqual(t, l.account.ID, account.ID)
		_, err := l.Verify(t.Context(), withCookies(cookie), nil, now(time.Minute))
		require.NoError(t, err)
		if n == 2 { // if the crash came later, the address was already free
			l.requireDeleted(t)
		}
	}
}

// FinishDeletions retries while the log is unavailable, and finds new deletions.
func TestFinishDeletionsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeaver(t)
		require.True(t, l.crashAt(t, 2, logtest.NotStored))
		b := &crashingLog{Log: l.log}
		l.options.Log = b
		deleted := []string{"somebody", "else"} // the log loses both deletions
		var mu sync.Mutex
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.FinishDeletions(ctx, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(deleted) })
		}()
		synctest.Wait()
		mu.Lock()
		deleted = []string{l.account.ID, "nobody"}
		mu.Unlock()
		<-time.After(3 * finishInterval)
		b.mu.Lock()
		b.left = 100
		b.mu.Unlock()
		<-time.After(finishInterval)
		synctest.Wait()
		l.requireDeleted(t)
		cancel()
		<-done
	})
}

// A deletion races with sign-ins. Afterwards, every session that works belongs
// to an existing account, and only one existing account has the address.
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
			account, session, err := l.Confirm(t.Context(), program, token, now(time.Second))
			if err == nil {
				require.NotEmpty(t, account.ID)
				cookies <- session[0].Value
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
			require.ErrorIs(t, err, owner.ErrUnauthenticated, "the deletion ended this earlier session")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, box.OwnerID, ownerID)
	}
	l.requireDeleted(t)
}
