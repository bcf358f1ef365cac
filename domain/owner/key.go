package owner

import (
	"bytes"
	"slices"
	"time"
)

// KeyLimit is how many keys that are not revoked an account may have.
const KeyLimit = 20

// keyUseEvery is how often the use of a key is stored at most.
const keyUseEvery = time.Hour

// Key is an API key; the service holds the public half alone.
type Key struct {
	ID         string
	Name       string
	PublicKey  []byte // 32 bytes, Ed25519
	Scopes     []Scope
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never
	RevokedAt  time.Time // zero: not
}

// Revoked says whether the key has been revoked.
func (k Key) Revoked() bool { return !k.RevokedAt.IsZero() }

// Key returns one of the account's keys, revoked or not.
func (a Account) Key(id string) (Key, bool) {
	i := slices.IndexFunc(a.Keys, func(k Key) bool { return k.ID == id })
	if i < 0 {
		return Key{}, false
	}
	return a.Keys[i], true
}

// NewKey is a key to register, its fields checked.
type NewKey struct {
	Name      string
	PublicKey []byte
	Scopes    []Scope
}

// RegisterKey adds a key under a new id. A caller cannot give it a scope that
// it does not have itself (ErrScopeMissing); ErrKeyExists and ErrKeyLimit are
// the other refusals.
func (a Account) RegisterKey(id string, k NewKey, by Caller) ([]Event, error) {
	for _, s := range k.Scopes {
		if !by.May(s) {
			return nil, ErrScopeMissing
		}
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

// UseKey notes that a key signed a request, unless it was noted within the
// hour. A revoked or unknown key is not noted.
func (a Account) UseKey(id string, now time.Time) []Event {
	k, ok := a.Key(id)
	if !ok || k.Revoked() || (!k.LastUsedAt.IsZero() && now.Sub(k.LastUsedAt) < keyUseEvery) {
		return nil
	}
	return []Event{APIKeyUsed{KeyID: id}}
}

// RevokeKey ends a key; one that is revoked stays so. Its refusal is
// ErrKeyUnknown.
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
