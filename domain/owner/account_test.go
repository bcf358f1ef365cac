package owner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSignIn(t *testing.T) {
	signIn := SignIn{OwnerID: "o1", AddressHash: "ab", Session: "s1", At: noon}
	started := SessionStarted{Session: "s1", Until: noon.Add(SessionLength)}

	t.Run("the first time makes the account", func(t *testing.T) {
		require.Equal(t, []Event{SignedUp{OwnerID: "o1", AddressHash: "ab"}, started}, Account{}.SignIn(signIn))
	})
	t.Run("later there is one", func(t *testing.T) {
		require.Equal(t, []Event{started}, account(given(SignedUp{OwnerID: "o1"})).SignIn(signIn))
	})
}

func TestSignOut(t *testing.T) {
	a := account(given(SignedUp{OwnerID: "o1"}, SessionStarted{Session: "s1", Until: noon.Add(time.Hour)}))
	require.Equal(t, []Event{SessionEnded{Session: "s1"}}, a.SignOut("s1"))
	require.Empty(t, a.SignOut("s2"), "one that is unknown")
	require.Empty(t, account(given(SignedUp{OwnerID: "o1"}, SessionStarted{Session: "s1"}, SessionEnded{Session: "s1"})).SignOut("s1"))
}

func TestSessionsThatRanOutAreForgotten(t *testing.T) {
	a := account(
		given(SessionStarted{Session: "old", Until: noon.Add(time.Hour)}),
		at(time.Hour, SessionStarted{Session: "new", Until: noon.Add(9 * time.Hour)}),
	)
	require.Equal(t, []Session{{Hash: "new", Until: noon.Add(9 * time.Hour)}}, a.Sessions)
}

func TestAdmit(t *testing.T) {
	a := account(given(
		SignedUp{OwnerID: "o1"},
		SessionStarted{Session: "s1", Until: noon.Add(time.Hour)}, SessionStarted{Session: "ended", Until: noon.Add(time.Hour)}, SessionEnded{Session: "ended"},
		APIKeyRegistered{KeyID: "k1"}, APIKeyRegistered{KeyID: "revoked"}, APIKeyRevoked{KeyID: "revoked"},
	))
	for name, c := range map[string]struct {
		caller Caller
		after  time.Duration
		ok     bool
	}{
		"a key":                             {Caller{OwnerID: "o1", KeyID: "k1"}, 0, true},
		"a revoked key":                     {Caller{OwnerID: "o1", KeyID: "revoked"}, 0, false},
		"an unknown key":                    {Caller{OwnerID: "o1", KeyID: "k2"}, 0, false},
		"a key under another owner":         {Caller{OwnerID: "o2", KeyID: "k1"}, 0, false},
		"a session":                         {Caller{OwnerID: "o1", Session: "s1"}, 0, true},
		"a session, just before it is over": {Caller{OwnerID: "o1", Session: "s1"}, time.Hour - 1, true},
		"a session as it is over":           {Caller{OwnerID: "o1", Session: "s1"}, time.Hour, false},
		"a session that ended":              {Caller{OwnerID: "o1", Session: "ended"}, 0, false},
		"an unknown session":                {Caller{OwnerID: "o1", Session: "s2"}, 0, false},
		"nobody":                            {Caller{OwnerID: "o1"}, 0, false},
		"a session under another owner":     {Caller{OwnerID: "o2", Session: "s1"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := a.Admit(c.caller, noon.Add(c.after))
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrUnauthenticated)
		})
	}
}

func TestChooseHandle(t *testing.T) {
	a := account(given(HandleChosen{Handle: "ada"}))
	require.Empty(t, a.ChooseHandle("ada"))
	require.Equal(t, []Event{HandleChosen{Handle: "bob"}}, a.ChooseHandle("bob"))
	require.Equal(t, "ada", a.Handle)
}
