package owner

import (
	"testing"
	"time"

	"hexarena/domain/ladder"

	"github.com/stretchr/testify/require"
)

func TestSignIn(t *testing.T) {
	signIn := SignIn{OwnerID: "o1", AddressHash: "ab", Session: "s1", At: noon}
	started := SessionStarted{Session: "s1", Until: noon.Add(SessionLength)}

	for name, c := range map[string]struct {
		given   []happened
		then    []Event
		refusal error
	}{
		"the first sign-in creates the account": {nil, []Event{SignedUp{OwnerID: "o1", AddressHash: "ab"}, started}, nil},
		"a later sign-in finds the account":     {given(SignedUp{OwnerID: "o1"}), []Event{started}, nil},
		"a suspended owner may still sign in":   {given(SignedUp{OwnerID: "o1"}, Suspended{}), []Event{started}, nil},
		"once deleted":                          {given(SignedUp{OwnerID: "o1"}, Deleted{}), nil, ErrOwnerGone},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := account(c.given).SignIn(signIn)
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestSignOut(t *testing.T) {
	a := account(given(SignedUp{OwnerID: "o1"}, SessionStarted{Session: "s1", Until: noon.Add(time.Hour)}))
	require.Equal(t, []Event{SessionEnded{Session: "s1"}}, a.SignOut("s1"))
	require.Empty(t, a.SignOut("s2"), "an unknown session")
	require.Empty(t, account(given(SignedUp{OwnerID: "o1"}, SessionStarted{Session: "s1"}, SessionEnded{Session: "s1"})).SignOut("s1"))
}

func TestExpiredSessionsAreForgotten(t *testing.T) {
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
		"a session when it is over":         {Caller{OwnerID: "o1", Session: "s1"}, time.Hour, false},
		"a session that ended":              {Caller{OwnerID: "o1", Session: "ended"}, 0, false},
		"an unknown session":                {Caller{OwnerID: "o1", Session: "s2"}, 0, false},
		"nobody":                            {Caller{OwnerID: "o1"}, 0, false},
		"a session under another owner":     {Caller{OwnerID: "o2", Session: "s1"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := a.Admit(c.caller, noon.Add(c.after))
			write := a.AdmitWrite(c.caller, noon.Add(c.after))
			if c.ok {
				require.NoError(t, err)
				require.NoError(t, write)

				require.ErrorIs(t, Evolve(a, Suspended{}, noon).AdmitWrite(c.caller, noon.Add(c.after)), ErrOwnerSuspended)
				require.NoError(t, Evolve(a, Suspended{}, noon).Admit(c.caller, noon.Add(c.after)), "it may read")
				require.ErrorIs(t, Evolve(a, Deleted{}, noon).Admit(c.caller, noon.Add(c.after)), ErrUnauthenticated)
				return
			}
			require.ErrorIs(t, err, ErrUnauthenticated)
			require.ErrorIs(t, write, ErrUnauthenticated)
		})
	}
}

func TestDelete(t *testing.T) {
	a := account(given(
		SignedUp{OwnerID: "o1", AddressHash: "ab"}, HandleChosen{Handle: "ada"}, SessionStarted{Session: "s1", Until: noon.Add(time.Hour)},
		APIKeyRegistered{KeyID: "k1"}, BotRegistered{BotID: "b1", Mode: ladder.Standard},
	))
	require.True(t, a.Exists())
	require.Equal(t, []Event{Deleted{}}, a.Delete())
	gone := Evolve(a, Deleted{}, noon)
	require.Equal(t, Account{ID: "o1", AddressHash: "ab", Handle: "ada", Deleted: true}, gone, "the address and the handle stay known until they are released")
	require.False(t, gone.Exists())
	require.Empty(t, gone.Delete(), "again")
	require.Empty(t, Account{}.Delete(), "nobody's")
}
