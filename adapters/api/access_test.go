package api_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api/apitest"
	remote "hexarena/adapters/client"
	"hexarena/domain/owner"
)

// TestAccess calls every endpoint in the OpenAPI document without a credential, with
// each kind of invalid credential, with a key of each scope, and with a session. The
// test fails if an endpoint is missing from its table.
func TestAccess(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("bot", "standard")
	spare := ada.newKey()
	revoked := ada.newKey(owner.AllScopes()...)
	ada.do(http.MethodDelete, "/keys/"+revoked.keyID, nil).is(http.StatusNoContent)
	both := ada.newKey(owner.AllScopes()...)
	both.cookie = ada.cookie
	signedOut := a.signIn("ada@example.org")
	signedOut.do(http.MethodPost, "/sign-out", nil).is(http.StatusNoContent)
	nobodies := map[string]*client{
		"no credential": a.anyone(), "a revoked key": revoked, "a key and a session": both, "a session that ended": signedOut,
		"another's key id":  {arena: a, keyID: ada.newKey(owner.AllScopes()...).keyID, key: spare.key},
		"an unknown key id": {arena: a, keyID: "0b1c8a3e-1111-4222-8333-444455556666", key: spare.key},
		"a wrong cookie":    {arena: a, cookie: &http.Cookie{Name: "session", Value: ada.cookie.Value[:20] + "x"}},
	}
	byScope := map[owner.Scope]*client{}
	for _, scope := range owner.AllScopes() {
		byScope[scope] = ada.newKey(scope)
	}

	const nobodys = "0b1c8a3e-1111-4222-8333-444455556666"
	managed := map[string]struct {
		method, target string
		body           any
		scope          owner.Scope // empty if the endpoint accepts only a session
		status         int
	}{
		"get-me":             {"GET", "/me", nil, owner.AccountRead, 200},
		"patch-me":           {"PATCH", "/me", "{}", owner.AccountWrite, 200},
		"stream-my-events":   {"GET", "/me/events", nil, owner.BotsRead, 503}, // this arena has no events
		"delete-me":          {"DELETE", "/me", nil, "", 204},
		"sign-out":           {"POST", "/sign-out", nil, "", 204},
		"list-keys":          {"GET", "/keys", nil, owner.KeysRead, 200},
		"register-key":       {"POST", "/keys", `{}`, owner.KeysWrite, 422},
		"revoke-key":         {"DELETE", "/keys/" + spare.keyID, nil, owner.KeysWrite, 204},
		"list-bots":          {"GET", "/bots", nil, owner.BotsRead, 200},
		"register-bot":       {"POST", "/bots", `{}`, owner.BotsWrite, 422},
		"get-bot":            {"GET", "/bots/" + bot, nil, owner.BotsRead, 200},
		"change-bot":         {"PATCH", "/bots/" + bot, "{}", owner.BotsWrite, 200},
		"check-bot":          {"POST", "/bots/" + bot + "/check", nil, owner.BotsWrite, 200},
		"remove-bot":         {"DELETE", "/bots/" + nobodys, nil, owner.BotsWrite, 404},
		"list-bot-decisions": {"GET", "/bots/" + bot + "/decisions", nil, owner.BotsRead, 200},
		"get-decisions":      {"GET", "/bots/" + bot + "/matches/none/decisions", nil, owner.BotsRead, 404},

		"order-trial":         {"POST", "/bots/" + bot + "/trial", nil, owner.BotsWrite, 409},
		"get-trial":           {"GET", "/bots/" + bot + "/trials/none", nil, owner.BotsRead, 404},
		"stream-trial":        {"GET", "/bots/" + bot + "/trials/none/stream", nil, owner.BotsRead, 404},
		"get-trial-frames":    {"GET", "/bots/" + bot + "/trials/none/frames", nil, owner.BotsRead, 404},
		"get-trial-decisions": {"GET", "/bots/" + bot + "/trials/none/decisions", nil, owner.BotsRead, 404},
	}
	for id, e := range managed {
		t.Run(id, func(t *testing.T) {
			for name, who := range nobodies {
				got := who.do(e.method, e.target, e.body).is(http.StatusUnauthorized, "unauthenticated")
				require.Equal(t, "not authenticated", got.json["detail"], "%s: the detail is always the same", name)
				require.NotEmpty(t, got.header.Get("WWW-Authenticate"), name)
			}
			for scope, who := range byScope {
				got := who.do(e.method, e.target, e.body)
				switch {
				case e.scope == "":
					got.is(http.StatusForbidden, "session_needed")
				case scope != e.scope:
					got.is(http.StatusForbidden, "scope_missing")
				default:
					require.Equal(t, e.status, got.status, string(got.body))
				}
			}
			who := ada
			if e.scope == "" {
				who = a.signIn(id + "@example.org") // the call ends this session
			}
			require.Equal(t, e.status, who.do(e.method, e.target, e.body).status, "a session has every scope")
		})
	}
	t.Run("anyone may call every other endpoint", func(t *testing.T) {
		everyone := maps.Clone(nobodies)
		everyone["a session"], everyone["a key"] = ada, byScope[owner.BotsRead]
		contractOf(t, a.server).Operations(func(path, method string, op apitest.Operation) {
			if _, ok := managed[op.ID]; ok {
				require.NotEmpty(t, op.Security, op.ID)
				return
			}
			require.Empty(t, op.Security, "%s needs a credential but is not in the table", op.ID)
			method, target, body := strings.ToUpper(method), strings.ReplaceAll(path, "{id}", "none"), any(nil)
			if method == http.MethodGet {
				target += "?unknown=1" // the server reports this error only after checking the credentials
			} else {
				body = "{}"
			}
			want := a.anyone().do(method, target, body)
			require.Contains(t, []int{404, 422}, want.status, op.ID)
			for name, who := range everyone {
				require.Equal(t, want.status, who.do(method, target, body).status, "%s, %s", op.ID, name)
			}
		})
	})
}

func TestSignatureCoversTheRequestAsSent(t *testing.T) {
	a := newArena(t)
	key := a.signIn("ada@example.org").newKey()
	signedAs := func(target, body string) *answer { // signs /bots and the body {}, but sends the given target and body
		return key.do(http.MethodPost, "/bots", "{}", func(r *http.Request) {
			parsed, err := r.URL.Parse(target)
			require.NoError(t, err)
			r.URL = parsed
			withBody(r, "application/json", body)
		})
	}
	signedAs("/bots", "{}").is(http.StatusUnprocessableEntity, "invalid")
	signedAs("/bots", "{ }").is(http.StatusUnauthorized, "unauthenticated")
	signedAs("/bots?", "{}").is(http.StatusUnauthorized, "unauthenticated")
	signedAs("/bots?mode=standard", "{}").is(http.StatusUnauthorized, "unauthenticated")
	signedAs("/b%6fts", "{}").is(http.StatusNotFound, "not_found")
}

// The server handles a HEAD request like a GET request, but the client signs it as
// HEAD. As with GET, the client may reuse the signature.
func TestHeadIsSignedAsHead(t *testing.T) {
	a := newArena(t)
	key := a.signIn("ada@example.org").newKey()
	for _, c := range []struct {
		sent, signed string
		status       int
	}{
		{http.MethodHead, http.MethodHead, http.StatusOK},
		{http.MethodHead, http.MethodHead, http.StatusOK},
		{http.MethodHead, http.MethodGet, http.StatusUnauthorized},
		{http.MethodGet, http.MethodHead, http.StatusUnauthorized},
	} {
		r := httptest.NewRequest(c.sent, "/bots", nil)
		remote.Key{ID: key.keyID, Private: key.key}.Sign(r.Header, a.now, c.signed, "/bots", nil)
		w := httptest.NewRecorder()
		a.server.ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, "%s signed as %s", c.sent, c.signed)
	}
}

func TestSignIn(t *testing.T) {
	a := newArena(t)
	anyone := a.anyone()

	t.Run("known and unknown addresses get the same response", func(t *testing.T) {
		unknown := anyone.do(http.MethodPost, "/sign-in", `{"email":"ada@example.org"}`).is(http.StatusAccepted)
		a.signIn("ada@example.org")
		known := anyone.do(http.MethodPost, "/sign-in", `{"email":"ada@example.org"}`).is(http.StatusAccepted)
		require.Equal(t, unknown.body, known.body)
		require.Empty(t, known.body)
	})
	t.Run("the link has the configured host, not the host of the request", func(t *testing.T) {
		a.pass(time.Millisecond)
		anyone.do(http.MethodPost, "/sign-in", `{"email":"host@example.org"}`, func(r *http.Request) {
			r.Host = "evil.example"
			r.Header.Set("X-Forwarded-Host", "evil.example")
		}).is(http.StatusAccepted)
		link, to := a.lastLink()
		require.Equal(t, "arena.example", link.Host)
		require.Equal(t, "host@example.org", to)
	})
	t.Run("a link's token is exchanged for a session", func(t *testing.T) {
		a.pass(time.Millisecond)
		anyone.do(http.MethodPost, "/sign-in", `{"email":"scan@example.org"}`).is(http.StatusAccepted)
		link, _ := a.lastLink()
		confirmed := anyone.do(http.MethodPost, "/sign-in/confirm", map[string]any{"token": link.Query().Get("token")}).is(http.StatusOK)
		require.Equal(t, "scan@example.org", confirmed.json["email"])
		cookie := confirmed.cookies()[0]
		require.Equal(t, "session", cookie.Name)
		require.True(t, cookie.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	})
	t.Run("a used, unknown or missing token", func(t *testing.T) {
		link, _ := a.lastLink()
		for _, token := range []string{link.Query().Get("token"), "unknown", ""} {
			anyone.do(http.MethodPost, "/sign-in/confirm", map[string]any{"token": token}).is(http.StatusUnauthorized, "link_invalid")
		}
	})
	t.Run("sign-out ends the session", func(t *testing.T) {
		eve := a.signIn("eve@example.org")
		out := eve.do(http.MethodPost, "/sign-out", nil).is(http.StatusNoContent)
		require.Equal(t, -1, out.cookies()[0].MaxAge)
		eve.do(http.MethodGet, "/me", nil).is(http.StatusUnauthorized, "unauthenticated")
	})
}
