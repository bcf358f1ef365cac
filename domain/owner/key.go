package owner

import (
	"bytes"
	"slices"
	"time"
)

// KeyLimit is how many unrevoked keys an account may have.
const KeyLimit = 20

// keyUseEvery is the shortest time between two stored uses of a key.
const keyUseEvery = time.Hour

// Key is an API key. The arena stores only the public key.
type Key struct {
	ID         string
	Name       string
	PublicKey  []byte // 32 bytes, Ed25519
	Scopes     []Scope
	CreatedAt  time.Time
	LastUsedAt time.Time // zero if never used
	RevokedAt  time.Time // zero if not revoked

	Moved    bool // whether the key was revoked because another account registered the public key with a proof
	Notified bool // whether the owner received the email about the moved key
}

// NoticeOwed reports whether the key moved to another account, but its former owner has
// not received the email about the move yet.
func (k Key) NoticeOwed() bool { return k.Moved && !k.Notified }

// Revoked reports whether the key has been revoked.
func (k Key) Revoked() bool { return !k.RevokedAt.IsZero() }

// Key returns the account's key with the given id, revoked or not.
func (a Account) Key(id string) (Key, bool) {
	return find(a.Keys, func(k Key) bool { return k.ID == id })
}

// NewKey is a key to register. Its fields have been checked.
type NewKey struct {
	Name      string
	PublicKey []byte
	Scopes    []Scope
}

// RegisterKey adds a key under a new id. It may fail with ErrKeyExists or
// ErrKeyLimit. It fails with ErrScopeMissing if the caller lacks one of the key's
// scopes, and with ErrKeyContested if another account has claimed the public key.
func (a Account) RegisterKey(id string, k NewKey, by Caller) ([]Event, error) {
	for _, s := range k.Scopes {
		if !by.May(s) {
			return nil, ErrScopeMissing
		}
	}
	if slices.Contains(a.refusedKeys, id) {
		return nil, ErrKeyContested
	}
	standing := without(a.Keys, Key.Revoked)
	if slices.ContainsFunc(standing, func(has Key) bool { return bytes.Equal(has.PublicKey, k.PublicKey) }) {
		return nil, ErrKeyExists
	}
	if len(standing) >= KeyLimit {
		return nil, ErrKeyLimit
	}
	return []Event{APIKeyRegistered{KeyID: id, Name: k.Name, PublicKey: k.PublicKey, Scopes: k.Scopes}}, nil
}

// UseKey records that a key signed a request, unless the log already records a
// use of the key within the last hour. It returns no event for a revoked or
// unknown key.
func (a Account) UseKey(id string, now time.Time) []Event {
	k, ok := a.Key(id)
	if !ok || k.Revoked() || (!k.LastUsedAt.IsZero() && now.Sub(k.LastUsedAt) < keyUseEvery) {
		return nil
	}
	return []Event{APIKeyUsed{KeyID: id}}
}

// RevokeKey revokes a key. It returns no event if the key is already revoked.
// It may fail with ErrKeyUnknown.
func (a Account) RevokeKey(id string) ([]Event, error) {
	k, ok := a.Key(id)
	if !ok {
		return nil, ErrKeyUnknown
	}
	if k.Revoked() {
		return nil, nil
	}
	return []Event{APIKeyRevoked{KeyID: id}}, nil
}
