package owner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	signedUp   = SignedUp{OwnerID: "o1"}
	registered = APIKeyRegistered{KeyID: "k1", Name: "laptop", PublicKey: publicKey(1)}
	yielded    = APIKeyRevoked{KeyID: "k1", By: ByOtherAccount}
)

func TestYieldKey(t *testing.T) {
	for name, c := range map[string]struct {
		given   []happened
		proved  bool
		then    []Event
		refusal error
	}{
		"an active key, with a proof":         {given(signedUp, registered), true, []Event{yielded}, nil},
		"an active key, without a proof":      {given(signedUp, registered), false, nil, ErrProofNeeded},
		"a key that its owner revoked":        {given(signedUp, registered, APIKeyRevoked{KeyID: "k1"}), false, nil, nil},
		"a key that was yielded before":       {given(signedUp, registered, yielded), true, nil, nil},
		"a claim without a key":               {given(signedUp), false, []Event{yielded}, nil},
		"a claim that was yielded before":     {given(signedUp, yielded), false, nil, nil},
		"the key of a deleted account":        {given(signedUp, registered, Deleted{}), false, nil, nil},
		"the key of an account without a log": {nil, false, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := account(c.given).YieldKey("k1", c.proved)
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestHolds(t *testing.T) {
	claim := KeyClaim{OwnerID: "o1", KeyID: "k1", At: noon}
	for name, c := range map[string]struct {
		given []happened
		after time.Duration
		want  bool
	}{
		"an active key":                {given(signedUp, registered), 24 * time.Hour, true},
		"a revoked key":                {given(signedUp, registered, APIKeyRevoked{KeyID: "k1"}), 0, false},
		"a new claim":                  {given(signedUp), ClaimGrace - 1, true},
		"an abandoned claim":           {given(signedUp), ClaimGrace, false},
		"a claim that yielded":         {given(signedUp, yielded), 0, false},
		"the key of a deleted account": {given(signedUp, registered, Deleted{}), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, account(c.given).Holds(claim, noon.Add(c.after)))
		})
	}
}

func TestClaimPublicKey(t *testing.T) {
	claimed := []Event{APIKeyClaimed{OwnerID: "o2", KeyID: "k2"}}
	first, own := given(APIKeyClaimed{OwnerID: "o1", KeyID: "k1"}), given(APIKeyClaimed{OwnerID: "o2", KeyID: "k1"})
	for name, c := range map[string]struct {
		given        []happened
		held, proved bool
		then         []Event
		refusal      error
	}{
		"the first":                    {nil, false, false, claimed, nil},
		"another account holds it":     {first, true, false, nil, ErrProofNeeded},
		"with a proof":                 {first, true, true, claimed, nil},
		"another account gave it up":   {first, false, false, claimed, nil},
		"the same account, once again": {own, true, false, claimed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := fold(EvolvePublicKey, c.given).Claim("o2", "k2", c.held, c.proved)
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestPublicKeyRemembersTwoClaims(t *testing.T) {
	p := fold(EvolvePublicKey, append(given(APIKeyClaimed{"o1", "k1"}, APIKeyClaimed{"o2", "k2"}), at(time.Second, APIKeyClaimed{"o3", "k3"})...))
	require.Equal(t, PublicKey{Last: KeyClaim{"o3", "k3", noon.Add(time.Second)}, Before: KeyClaim{"o2", "k2", noon}}, p)
}

func TestNoticeOfAMovedKey(t *testing.T) {
	notified := Notified{KeyID: "k1", About: AboutMovedKey}
	moved := given(signedUp, registered, yielded)
	require.Equal(t, []Event{notified}, account(moved).NotifyOfMovedKey("k1"))
	require.Empty(t, account(moved, given(notified)).NotifyOfMovedKey("k1"))
	require.Empty(t, account(given(signedUp, registered, APIKeyRevoked{KeyID: "k1"})).NotifyOfMovedKey("k1"), "its owner revoked it")
	require.Empty(t, account(given(signedUp, yielded)).NotifyOfMovedKey("k1"), "it was never registered")
	for range NoticeLimit {
		moved = append(moved, given(notified)...)
	}
	require.ErrorIs(t, account(moved).MayNotify(noon), ErrNoticeLimit)
}
