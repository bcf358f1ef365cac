package api_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/adapters/api/ratelimit"
	remote "hexarena/adapters/client"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// The method again() makes the same call several times, with the same signature, and
// returns the statuses.
func (c *client) again(method, target, body string, times int) []int {
	c.t.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	c.mu.Lock()
	c.signed++
	now := c.now.Add(time.Duration(c.signed) * time.Millisecond)
	c.mu.Unlock()
	remote.Key{ID: c.keyID, Private: c.key}.Sign(header, now, method, target, []byte(body))
	var statuses []int
	for range times {
		got := (&client{arena: c.arena}).do(method, target, nil, func(r *http.Request) {
			r.Header = header.Clone()
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader([]byte(body))), int64(len(body))
		})
		statuses = append(statuses, got.status)
	}
	return statuses
}

// A client can use the signature of a write only once, even if the server refuses
// the call for another reason after verifying the signature.
func TestSignatureIsSpent(t *testing.T) {
	a := newArena(t, func(o *api.Options) { o.Limits = ratelimit.Limits{Registrations: 3} })
	ada := a.signIn("ada@example.org")
	key, blind := ada.newKey(owner.AllScopes()...), ada.newKey(owner.KeysRead)
	const good = `{"name":"x","mode":"standard","url":"https://x.example"}`
	require.Equal(t, []int{201, 401, 401}, key.again("POST", "/bots", good, 3))
	require.Len(t, ada.do("GET", "/bots", nil).is(200).json["bots"], 1, "it ran once")
	a.pass(time.Minute)
	require.Equal(t, []int{403, 401}, blind.again("POST", "/bots", good, 2), "without the scope")
	a.pass(time.Minute)
	require.Equal(t, []int{400, 401}, key.again("POST", "/bots", "{", 2), "malformed")
	require.Equal(t, []int{422, 401}, key.again("PATCH", "/me", `{"x":1}`, 2), "an unknown field")
	require.Equal(t, []int{404, 401}, key.again("DELETE", "/bots/none", "", 2), "an unknown bot")
	require.Equal(t, []int{200, 200}, key.again("GET", "/me", "", 2), "a read may be sent again")
	a.pass(time.Minute)
	for range 3 {
		key.do("POST", "/bots", "{}").is(422)
	}
	require.Equal(t, []int{429, 401}, key.again("POST", "/bots", good, 2), "over the account's limit")
	a.pass(time.Minute)
	for range 3 {
		a.anyone().do("POST", "/bots", "{}").is(401)
	}
	require.Equal(t, []int{429, 429}, key.again("POST", "/bots", good, 2), "nothing is verified once the address is over its limit")
}

// A suspended owner can read but not write. A suspended bot stays paused.
func TestSuspended(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	me := ada.do("GET", "/me", nil).is(200).json["id"].(string)
	bot, key, blind := ada.newBot("bot", "standard"), ada.newKey(owner.AllScopes()...), ada.newKey(owner.BotsRead)
	order := func(e owner.Event) {
		stored, err := eventstore.Encode(e, eventstore.Metadata{At: a.now})
		require.NoError(t, err)
		_, err = a.log.Append(t.Context(), eventstore.StreamID(owner.AccountStream(me)), eventstore.Exists, stored)
		require.NoError(t, err)
	}
	order(owner.Suspended{Reason: "test"})
	for _, who := range []*client{ada, key} {
		require.Equal(t, "paused", who.do("GET", "/bots/"+bot, nil).is(200).json["status"])
		who.do("GET", "/me", nil).is(200)
		who.do("PATCH", "/me", `{"name":"ada"}`).is(403, "suspended")
		who.do("POST", "/keys", "{").is(403, "suspended")
		who.do("DELETE", "/bots/"+bot, nil).is(403, "suspended")
		who.do("POST", "/bots/"+bot+"/check", nil).is(403, "suspended")
	}
	ada.do("DELETE", "/me", nil).is(403, "suspended")
	blind.do("PATCH", "/me", "{}").is(403, "scope_missing")
	a.signIn("ada@example.org").do("POST", "/sign-out", nil).is(204)

	order(owner.Restored{Reason: "test"})
	require.Equal(t, "active", ada.do("GET", "/bots/"+bot, nil).is(200).json["status"])
	order(owner.BotPaused{BotID: bot, By: owner.ByOperator, Reason: "test"})
	ada.do("PATCH", "/bots/"+bot, `{"status":"active"}`).is(409, "suspended")
	require.Equal(t, "paused", ada.do("PATCH", "/bots/"+bot, `{"status":"paused"}`).is(200).json["status"])
	ada.do("PATCH", "/bots/"+bot, `{"name":"still"}`).is(200)
}
