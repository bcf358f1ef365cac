package api_test

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An owner signs up by email, registers a key, and manages a bot with signed
// calls.
func TestOwnersWholePath(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	me := ada.do(http.MethodGet, "/me", nil).is(http.StatusOK)
	require.Equal(t, map[string]any{"id": me.json["id"], "name": "", "email": "ada@example.org", "mails": map[string]any{"failing": true, "unreachable": true, "recovered": true}}, me.json)

	signed := ada.newKey()
	created := signed.do(http.MethodPost, "/bots", `{"name": " Lovelace ", "mode": "standard", "url": "http://127.0.0.1:9001/play?x=1"}`).is(http.StatusCreated)
	id := created.json["id"].(string)
	bot := map[string]any{
		"id": id, "ownerId": me.json["id"], "name": "Lovelace", "mode": "standard",
		"url": "http://127.0.0.1:9001/play?x=1", "status": "active", "createdAt": "2026-09-06T12:00:00.124Z",
		"health": nil, "seating": nil, // this arena has neither
		"trial": nil,
	}
	require.Equal(t, bot, created.json)
	require.Equal(t, []string{"http://127.0.0.1:9001/play?x=1"}, a.tried)

	require.Equal(t, map[string]any{"bots": []any{bot}}, signed.do(http.MethodGet, "/bots", nil).is(http.StatusOK).json)
	require.Equal(t, map[string]any{"bots": []any{}}, signed.do(http.MethodGet, "/bots?mode=parley", nil).is(http.StatusOK).json)
	require.Equal(t, bot, signed.do(http.MethodGet, "/bots/"+id, nil).is(http.StatusOK).json)

	bot["status"], bot["seating"] = "paused", map[string]any{"state": "paused", "since": "2026-09-06T12:00:00.124Z", "until": nil, "matchId": nil, "reason": nil}
	require.Equal(t, bot, signed.do(http.MethodPatch, "/bots/"+id, `{"status":"paused"}`).is(http.StatusOK).json)
	require.Equal(t, bot, signed.do(http.MethodGet, "/bots/"+id, nil).is(http.StatusOK).json)
	bot["status"], bot["name"], bot["seating"] = "active", "Countess", nil
	require.Equal(t, bot, signed.do(http.MethodPatch, "/bots/"+id, `{"status":"active","name":"Countess"}`).is(http.StatusOK).json)
	require.Len(t, a.tried, 1, "a change of name or status runs no deploy check")

	checked := signed.do(http.MethodPost, "/bots/"+id+"/check", nil).is(http.StatusOK)
	require.Equal(t, map[string]any{"ok": true, "steps": []any{
		map[string]any{"name": "ping", "ok": true, "detail": "pong", "elapsedMs": 3.0},
		map[string]any{"name": "upgrade", "ok": true, "detail": "", "elapsedMs": 1.0},
	}}, checked.json)

	removed := signed.do(http.MethodDelete, "/bots/"+id, nil).is(http.StatusNoContent)
	require.Empty(t, removed.body)
	signed.do(http.MethodDelete, "/bots/"+id, nil).is(http.StatusNotFound, "not_found")
	signed.do(http.MethodGet, "/bots/"+id, nil).is(http.StatusNotFound, "not_found")
	require.Equal(t, map[string]any{"bots": []any{}}, signed.do(http.MethodGet, "/bots", nil).is(http.StatusOK).json)
}

func TestAccount(t *testing.T) {
	a := newArena(t)
	ada, bob := a.signIn("ada@example.org"), a.signIn("bob@example.org")

	named := ada.do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusOK)
	require.Equal(t, "ada", named.json["name"])
	require.Equal(t, "ada@example.org", named.json["email"])
	ada.do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusOK)
	ada.do(http.MethodPatch, "/me", `{}`).is(http.StatusOK)
	bob.do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusConflict, "handle_taken")
	for _, wrong := range []string{`"Ada"`, `"ad"`, `"ada\r\n"`, `"a b"`, `""`} {
		bob.do(http.MethodPatch, "/me", `{"name":`+wrong+`}`).is(http.StatusUnprocessableEntity, "invalid").names("name")
	}

	ada.do(http.MethodPatch, "/me", `{"name":"countess"}`).is(http.StatusOK)
	bob.do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusConflict, "handle_taken")
	ada.do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusOK)
	ada.do(http.MethodPatch, "/me", `{"name":"countess"}`).is(http.StatusOK)
	a.pass(29 * 24 * time.Hour)
	bob.do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusConflict, "handle_taken")
	bob = a.signIn("bob@example.org")
	a.pass(25 * time.Hour)
	bob.do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusOK)
}

func TestKeys(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	signed := ada.newKey("bots.read", "keys.read", "keys.write")
	signed.do(http.MethodGet, "/bots", nil).is(http.StatusOK)

	listed := signed.do(http.MethodGet, "/keys", nil).is(http.StatusOK).json["keys"].([]any)
	require.Len(t, listed, 1)
	key := listed[0].(map[string]any)
	require.Equal(t, map[string]any{
		"id": signed.keyID, "name": "test", "publicKey": base64.StdEncoding.EncodeToString(signed.key[32:]),
		"scopes": []any{"bots.read", "keys.read", "keys.write"}, "createdAt": "2026-09-06T12:00:00.124Z",
		"lastUsedAt": "2026-09-06T12:00:00.124Z", "revokedAt": nil,
	}, key)

	public := map[string]any{"name": "copy", "publicKey": key["publicKey"]}
	ada.do(http.MethodPost, "/keys", public).is(http.StatusConflict, "key_exists")
	public["scopes"] = []string{"account.read"}
	signed.do(http.MethodPost, "/keys", public).is(http.StatusForbidden, "scope_exceeded")

	signed.do(http.MethodDelete, "/keys/"+signed.keyID, nil).is(http.StatusNoContent)
	signed.do(http.MethodGet, "/keys", nil).is(http.StatusUnauthorized, "unauthenticated")
	ada.do(http.MethodDelete, "/keys/"+signed.keyID, nil).is(http.StatusNoContent)
	ada.do(http.MethodDelete, "/keys/none", nil).is(http.StatusNotFound, "not_found")
	again := ada.do(http.MethodPost, "/keys", public).is(http.StatusCreated)
	require.NotEqual(t, signed.keyID, again.json["id"])
	listed = ada.do(http.MethodGet, "/keys", nil).is(http.StatusOK).json["keys"].([]any)
	require.Len(t, listed, 2)
	require.Equal(t, "2026-09-06T12:00:00.124Z", listed[0].(map[string]any)["revokedAt"])
}

func TestOthersResourcesAreNotFound(t *testing.T) {
	a := newArena(t)
	ada, bob := a.signIn("ada@example.org"), a.signIn("bob@example.org")
	id, key := ada.newBot("bot", "standard"), ada.newKey()
	for _, call := range [][2]string{{http.MethodGet, ""}, {http.MethodDelete, ""}, {http.MethodPatch, ""}, {http.MethodPost, "/check"}} {
		theirs := bob.do(call[0], "/bots/"+id+call[1], nil, patched).is(http.StatusNotFound, "not_found")
		nobodys := bob.do(call[0], "/bots/0b1c8a3e-1111-4222-8333-444455556666"+call[1], nil, patched).is(http.StatusNotFound, "not_found")
		require.Equal(t, nobodys.json["detail"], theirs.json["detail"])
	}
	bob.do(http.MethodDelete, "/keys/"+key.keyID, nil).is(http.StatusNotFound, "not_found")
	ada.do(http.MethodGet, "/bots/"+id, nil).is(http.StatusOK)
	key.do(http.MethodGet, "/bots", nil).is(http.StatusOK)
}

// The function patched() gives a PATCH request a body. Without a body, the arena would
// reject the request before it looks up the resource.
func patched(r *http.Request) {
	if r.Method == http.MethodPatch {
		withBody(r, "application/json", "{}")
	}
}
