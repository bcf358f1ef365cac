package owner

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is a permission of a key (docs/protocol.md).
type Scope string

// The scopes.
const (
	BotsRead     Scope = "bots.read"
	BotsWrite    Scope = "bots.write"
	KeysRead     Scope = "keys.read"
	KeysWrite    Scope = "keys.write"
	AccountRead  Scope = "account.read"
	AccountWrite Scope = "account.write"
)

var allScopes = []Scope{BotsRead, BotsWrite, KeysRead, KeysWrite, AccountRead, AccountWrite}

// AllScopes returns all scopes. A session has all of them.
func AllScopes() []Scope { return slices.Clone(allScopes) }

// DefaultScopes returns the scopes of a key whose registration names no scopes.
func DefaultScopes() []Scope { return []Scope{BotsRead, BotsWrite} }

// ParseScopes reads scopes by name, without duplicates and in a fixed order. If
// names is nil, ParseScopes returns the default scopes. An empty list is
// invalid, and so is an unknown name.
func ParseScopes(names []string) ([]Scope, error) {
	if names == nil {
		return DefaultScopes(), nil
	}
	if len(names) == 0 {
		return nil, Invalid("scopes", "must name at least one scope")
	}
	for _, name := range names {
		if !slices.Contains(allScopes, Scope(name)) {
			return nil, Invalid("scopes", "contains a name that is not a scope; the scopes are "+scopeList())
		}
	}
	return without(allScopes, func(s Scope) bool { return !slices.Contains(names, string(s)) }), nil
}

func scopeList() string { return strings.Trim(fmt.Sprint(allScopes), "[]") }

// Caller is the authenticated sender of a request. Exactly one of KeyID and Session
// is set.
type Caller struct {
	OwnerID string
	KeyID   string  // the key that signed
	Session string  // hash of the session's token
	Scopes  []Scope // a session has all scopes

	Suspended bool // whether the account is suspended, so that it may only read
}

// May reports whether the caller has a scope.
func (c Caller) May(s Scope) bool { return slices.Contains(c.Scopes, s) }
