package owner

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func keys(n int) []happened {
	var list []happened
	for i := range n {
		list = append(list, given(APIKeyRegistered{KeyID: fmt.Sprint("k", i), PublicKey: publicKey(byte(i))})...)
	}
	return list
}

func TestRegisterKey(t *testing.T) {
	session := Caller{OwnerID: "o1", Session: "s1", Scopes: AllScopes()}
	keysAlone := Caller{OwnerID: "o1", KeyID: "k0", Scopes: []Scope{KeysWrite}}
	key := NewKey{Name: "laptop", PublicKey: publicKey(200), Scopes: DefaultScopes()}
	registered := []Event{APIKeyRegistered{KeyID: "new", Name: "laptop", PublicKey: publicKey(200), Scopes: DefaultScopes()}}

	for name, c := range map[string]struct {
		given   []happened
		key     NewKey
		by      Caller
		then    []Event
		refusal error
	}{
		"the first":                         {nil, key, session, registered, nil},
		"the 20th":                          {keys(19), key, session, registered, nil},
		"the 21st":                          {keys(20), key, session, nil, ErrKeyLimit},
		"the 21st, with one revoked":        {append(keys(20), given(APIKeyRevoked{KeyID: "k3"})...), key, session, registered, nil},
		"a public key that the account has": {keys(3), NewKey{PublicKey: publicKey(2)}, session, nil, ErrKeyExists},
		"a public key that was revoked":     {append(keys(3), given(APIKeyRevoked{KeyID: "k2"})...), NewKey{PublicKey: publicKey(2)}, session, []Event{APIKeyRegistered{KeyID: "new", PublicKey: publicKey(2)}}, nil},
		"under an id that was refused":      {given(APIKeyRevoked{KeyID: "new", By: ByOtherAccount}), key, session, nil, ErrKeyContested},
		"by a key, scopes it lacks":         {nil, key, keysAlone, nil, ErrScopeMissing},
		"by a key, its own scope": {
			nil, NewKey{PublicKey: publicKey(9), Scopes: []Scope{KeysWrite}}, keysAlone,
			[]Event{APIKeyRegistered{KeyID: "new", PublicKey: publicKey(9), Scopes: []Scope{KeysWrite}}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := account(c.given).RegisterKey("new", c.key, c.by)
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestRevokeKey(t *testing.T) {
	for name, c := range map[string]struct {
		given   []happened
		then    []Event
		refusal error
	}{
		"a valid key":    {keys(1), []Event{APIKeyRevoked{KeyID: "k0"}}, nil},
		"a revoked key":  {append(keys(1), given(APIKeyRevoked{KeyID: "k0"})...), nil, nil},
		"an unknown key": {nil, nil, ErrKeyUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := account(c.given).RevokeKey("k0")
			then(t, c.then, c.refusal, events, err)
		})
	}
}

func TestUseKey(t *testing.T) {
	used := []Event{APIKeyUsed{KeyID: "k0"}}
	for name, c := range map[string]struct {
		given []happened
		after time.Duration
		then  []Event
	}{
		"the first time":       {keys(1), 0, used},
		"again within an hour": {append(keys(1), given(used...)...), time.Hour - 1, nil},
		"again after an hour":  {append(keys(1), given(used...)...), time.Hour, used},
		"a revoked key":        {append(keys(1), given(APIKeyRevoked{KeyID: "k0"})...), 0, nil},
		"an unknown key":       {nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.then, account(c.given).UseKey("k0", noon.Add(c.after)))
		})
	}
	k, _ := account(keys(1), at(time.Minute, used...)).Key("k0")
	require.Equal(t, noon.Add(time.Minute), k.LastUsedAt)
}

func TestParseScopes(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		want  []Scope
	}{
		"none named":        {nil, []Scope{BotsRead, BotsWrite}},
		"an empty list":     {[]string{}, nil},
		"all, out of order": {[]string{"account.write", "account.read", "keys.write", "keys.read", "bots.write", "bots.read"}, AllScopes()},
		"one twice":         {[]string{"keys.read", "keys.read"}, []Scope{KeysRead}},
		"an unknown one":    {[]string{"bots.read", "bots.delete"}, nil},
		"another spelling":  {[]string{"Bots.Read"}, nil},
		"an empty name":     {[]string{""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			scopes, err := ParseScopes(c.names)
			require.Equal(t, c.want, scopes)
			require.Equal(t, c.want == nil, err != nil)
		})
	}
}
