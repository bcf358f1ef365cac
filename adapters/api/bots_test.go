package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/rest"
	"hexarena/eventstore"
)

func TestDeployCheck(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	id := ada.newBot("bot", "standard")
	a.checks["https://down.example"] = []rest.Step{{Name: "resolve", OK: true}, {Name: "ping", Detail: "no answer within 5 s", ElapsedMs: 5000}}
	a.checks["https://none.example"] = []rest.Step{}
	a.urls["https://10.0.0.1"] = errPrivate
	a.tried = nil

	down := ada.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://down.example"}`).
		is(http.StatusUnprocessableEntity, "deploy_check_failed").names("url")
	require.Contains(t, down.json["detail"], "ping: no answer within 5 s")
	require.Equal(t, []any{
		map[string]any{"name": "resolve", "ok": true, "detail": "", "elapsedMs": 0.0},
		map[string]any{"name": "ping", "ok": false, "detail": "no answer within 5 s", "elapsedMs": 5000.0},
	}, down.json["steps"])
	ada.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://none.example"}`).is(http.StatusUnprocessableEntity, "deploy_check_failed")
	ada.do(http.MethodPatch, "/bots/"+id, `{"name":"new","url":"https://down.example"}`).is(http.StatusUnprocessableEntity, "deploy_check_failed")
	require.Len(t, a.tried, 3)

	private := ada.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://10.0.0.1"}`).is(http.StatusUnprocessableEntity, "url_not_allowed").names("url")
	require.Contains(t, private.json["detail"], "must be a public address")
	ada.do(http.MethodPatch, "/bots/"+id, `{"url":"https://10.0.0.1"}`).is(http.StatusUnprocessableEntity, "url_not_allowed").names("url")
	require.Len(t, a.tried, 3, "it is refused before any connection")

	bot := ada.do(http.MethodGet, "/bots/"+id, nil).is(http.StatusOK)
	require.Equal(t, "bot", bot.json["name"], "a refused change changes nothing")
	moved := ada.do(http.MethodPatch, "/bots/"+id, `{"name":"new","url":"https://new.example"}`).is(http.StatusOK)
	require.Equal(t, "https://new.example", moved.json["url"])
	require.Equal(t, "https://new.example", a.tried[len(a.tried)-1])
	ada.do(http.MethodPatch, "/bots/"+id, `{"url":"https://new.example"}`).is(http.StatusOK)
	require.Len(t, a.tried, 4, "an unchanged URL is not checked again")

	a.checks["https://new.example"] = a.checks["https://down.example"]
	checked := ada.do(http.MethodPost, "/bots/"+id+"/check", nil).is(http.StatusOK)
	require.Equal(t, false, checked.json["ok"])
	require.Len(t, checked.json["steps"], 2)
}

// A deploy check names the bot that it checks, even if the bot is not registered yet.
func TestDeployCheckNamesTheBot(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	id := ada.newBot("bot", "standard")
	ada.do(http.MethodPatch, "/bots/"+id, `{"url":"https://new.example"}`).is(http.StatusOK)
	ada.do(http.MethodPost, "/bots/"+id+"/check", nil).is(http.StatusOK)
	require.Equal(t, []string{id, id, id}, a.named)
}

func TestFiveActiveBots(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	var ids []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		ids = append(ids, ada.newBot(name, "standard"))
	}
	a.tried = nil
	ada.do(http.MethodPost, "/bots", `{"name":"f","mode":"standard","url":"https://f.example"}`).is(http.StatusConflict, "bot_limit")
	require.Empty(t, a.tried, "the limit is checked before the deploy check")
	ada.newBot("f", "parley")
	ada.do(http.MethodPatch, "/bots/"+ids[0], `{"status":"paused"}`).is(http.StatusOK)
	ada.newBot("g", "standard")
	ada.do(http.MethodPatch, "/bots/"+ids[0], `{"status":"active"}`).is(http.StatusConflict, "bot_limit")
	ada.do(http.MethodDelete, "/bots/"+ids[1], nil).is(http.StatusNoContent)
	ada.do(http.MethodPatch, "/bots/"+ids[0], `{"status":"active"}`).is(http.StatusOK)
}

func TestConcurrentCallsKeepTheLimits(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	statuses := func(call func() int) map[int]int {
		var wg sync.WaitGroup
		results := make(chan int, 50)
		for range 50 {
			wg.Go(func() { results <- call() })
		}
		wg.Wait()
		close(results)
		counts := map[int]int{}
		for status := range results {
			counts[status]++
		}
		return counts
	}
	require.Equal(t, map[int]int{201: 5, 409: 45}, statuses(func() int {
		return ada.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://x.example"}`).status
	}))
	require.Equal(t, map[int]int{201: 20, 409: 30}, statuses(func() int {
		return ada.do(http.MethodPost, "/keys", map[string]any{"name": "x", "publicKey": newPublicKey()}).status
	}))
	a2, b2 := a.signIn("bob@example.org"), a.signIn("cy@example.org")
	turn := make(chan *client, 50)
	for range 25 {
		turn <- a2
		turn <- b2
	}
	got := statuses(func() int { return (<-turn).do(http.MethodPatch, "/me", `{"name":"bee"}`).status })
	require.Equal(t, map[int]int{200: 25, 409: 25}, got, "one account gets the handle, and its later calls change nothing")
}

// If a credential is revoked during a call, the call changes nothing.
func TestRevocationDuringACall(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	key := ada.newKey()
	a.during = func(string) { ada.do(http.MethodDelete, "/keys/"+key.keyID, nil).is(http.StatusNoContent) }
	key.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://x.example"}`).is(http.StatusUnauthorized, "unauthenticated")
	require.Empty(t, ada.do(http.MethodGet, "/bots", nil).json["bots"])

	other := a.signIn("ada@example.org")
	a.during = func(string) { other.do(http.MethodPost, "/sign-out", nil).is(http.StatusNoContent) }
	other.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://x.example"}`).is(http.StatusUnauthorized, "unauthenticated")
	require.Empty(t, ada.do(http.MethodGet, "/bots", nil).json["bots"])
}

func TestWritesWhileTheLogIsUnavailable(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	a.log.setAway(true)
	away := ada.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://x.example"}`).is(http.StatusServiceUnavailable, "log_unavailable")
	require.Equal(t, "1", away.header.Get("Retry-After"))
	ada.do(http.MethodGet, "/bots", nil).is(http.StatusOK)
	a.log.setAway(false)
	ada.newBot("x", "standard")
}

// A claim on a handle lapses after a minute unless the account starts to use the
// handle.
func TestAbandonedHandleLapses(t *testing.T) {
	a := newArena(t)
	bob := a.signIn("bob@example.org")
	stray, err := eventstore.Encode(claimedBy("gone"), eventstore.Metadata{At: a.now})
	require.NoError(t, err)
	_, err = a.log.Append(t.Context(), "handle-bee", eventstore.NoStream, stray)
	require.NoError(t, err)
	bob.do(http.MethodPatch, "/me", `{"name":"bee"}`).is(http.StatusConflict, "handle_taken")
	a.pass(time.Minute)
	bob.do(http.MethodPatch, "/me", `{"name":"bee"}`).is(http.StatusOK)
}

func TestEveryWriteWaitsForTheDirectory(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	a.waited = nil
	ada.newKey()
	id := ada.newBot("x", "standard")
	ada.do(http.MethodDelete, "/bots/"+id, nil).is(http.StatusNoContent)
	require.Len(t, a.waited, 3)
	require.Less(t, a.waited[0], a.waited[1])
}

func TestEventsHaveTheIDOfTheirRequest(t *testing.T) {
	a := newArena(t)
	zoe := a.signIn("zoe@example.org")
	created := zoe.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://x.example"}`).is(http.StatusCreated)
	for r, err := range a.log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		require.NotContains(t, string(r.Stream), "zoe") // no id or hash contains zoe, because ids and hashes are in hex
		if r.Type == "BotRegistered" {
			m, err := eventstore.DecodeMetadata(r)
			require.NoError(t, err)
			require.Equal(t, created.header.Get("X-Request-Id"), m.Correlation)
			require.True(t, strings.HasPrefix(string(r.Stream), "owner-"))
		}
	}
}
