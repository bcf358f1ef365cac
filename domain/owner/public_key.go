package owner

import (
	"slices"
	"time"
)

// PublicKey is the state folded from the stream of a public key. The zero value
// is a key that no account has claimed.
//
// At most one account has an active key with a given public key. An account
// therefore registers a key in three steps:
//
//  1. It reads the last two claims, Before and Last. It makes sure that Before can no
//     longer become a key (see YieldKey), and appends its own claim at the exact
//     revision.
//  2. It makes the account that made the claim Last give up the key (see YieldKey).
//  3. It registers the key in its own stream.
//
// So when an account registers a key, no earlier claim can become a key. A later claimant
// can register its key only after this account has given up its own. A crash leaves a
// claim without a key. Such a claim protects nothing after ClaimGrace.
type PublicKey struct {
	Last, Before KeyClaim
}

// KeyClaim announces the registration of a public key. The zero value means that
// there is no claim.
type KeyClaim struct {
	OwnerID string
	KeyID   string
	At      time.Time
}

// Claim announces that an account is about to register the public key. The
// parameter held says whether the account with the last claim still holds the key,
// and proved says whether the claimant has proved that it has the private key. If
// another account holds the key and proved is false, Claim fails with
// ErrProofNeeded.
func (p PublicKey) Claim(ownerID, keyID string, held, proved bool) ([]Event, error) {
	if held && !proved && p.Last.OwnerID != ownerID {
		return nil, ErrProofNeeded
	}
	return []Event{APIKeyClaimed{OwnerID: ownerID, KeyID: keyID}}, nil
}

// EvolvePublicKey returns p after e, which occurred at the given time. It never
// rejects an event.
func EvolvePublicKey(p PublicKey, e Event, at time.Time) PublicKey {
	if e, ok := e.(APIKeyClaimed); ok {
		return PublicKey{Last: KeyClaim{OwnerID: e.OwnerID, KeyID: e.KeyID, At: at}, Before: p.Last}
	}
	return p
}

// Holds reports whether the account's claim protects the public key from other
// accounts. It does if the key is active, or if the claim is so new that the account
// may still be registering the key.
func (a Account) Holds(c KeyClaim, now time.Time) bool {
	if k, ok := a.Key(c.KeyID); ok {
		return !k.Revoked()
	}
	return a.Exists() && !slices.Contains(a.refusedKeys, c.KeyID) && now.Sub(c.At) < ClaimGrace
}

// YieldKey makes the account give up a key, or its claim to the key, because another
// account is registering the public key. After that, the account can never register a
// key under this id. YieldKey returns no event if the account has already given the
// key up. If the key is active, and the other account has not proved that it has the
// private key, YieldKey fails with ErrProofNeeded.
func (a Account) YieldKey(id string, proved bool) ([]Event, error) {
	k, registered := a.Key(id)
	switch {
	case !a.Exists() || registered && k.Revoked() || slices.Contains(a.refusedKeys, id):
		return nil, nil
	case registered && !proved:
		return nil, ErrProofNeeded
	}
	return []Event{APIKeyRevoked{KeyID: id, By: ByOtherAccount}}, nil
}
