package auth

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
	projected "hexarena/projections/accounts"
)

// cachedPeer starts another process, which caches accounts, on the same log. The test
// must call the returned function to stop that process.
func (f *fixture) cachedPeer(t *testing.T) (*fixture, func()) {
	t.Helper()
	p := f.peer(t)
	cache := projected.New(f.log)
	p.options.Accounts = cache
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); cache.Run(ctx) }()
	synctest.Wait()
	return p, func() { cancel(); <-done }
}

// The process that revokes a key or ends a session rejects the credential immediately.
// Other processes that use the same log reject it within a second.
func TestRevocationReachesPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		here, stopHere := f.cachedPeer(t)
		defer stopHere()
		there, stopThere := f.cachedPeer(t)
		defer stopThere()
		account, cookie := here.signIn(t, "ada@example.org", 0)
		s := signer{"k1", f.addKey(t, account.ID, "k1", owner.BotsWrite)}
		began := time.Now()
		clock := func() time.Time { return noon.Add(time.Since(began)) }
		signed := func(f *fixture) bool { return f.runs(t, s.write(clock(), "a"), "a", clock()) }
		inSession := func(f *fixture) bool { return f.runs(t, withCookies(cookie), "", clock()) }
		for _, f := range []*fixture{here, there} {
			<-time.After(time.Second)
			require.True(t, inSession(f))
			require.True(t, signed(f))
			<-time.After(time.Second)
		}

		caller := owner.Caller{OwnerID: account.ID, Session: account.Sessions[0].Hash}
		_, err := here.SignOut(t.Context(), caller, at(clock()))
		require.NoError(t, err)
		_, _, err = here.options.Accounts.Change(t.Context(), account.ID, at(clock()), func(a owner.Account) ([]owner.Event, error) { return a.RevokeKey("k1") })
		require.NoError(t, err)
		require.False(t, inSession(here))
		require.False(t, signed(here))
		<-time.After(time.Second)
		require.False(t, inSession(there))
		require.False(t, signed(there))
	})
}
