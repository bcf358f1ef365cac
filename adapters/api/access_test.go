package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
)

// Every endpoint of the management side, by who calls it.
func TestAccess(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("bot", "standard")
	spare := ada.newKey()
	revoked := ada.newKey(owner.AllScopes()...)
	ada.do(http.MethodDelete, "/keys/"+revoked.keyID, nil).is(http.StatusNoContent)
	stolen := &client{arena: a, keyID: ada.newKey(owner.AllScopes()...).keyID, key: spare.key}
	unknown := &client{arena: a, keyID: "0b1c8a3e-1111-4222-8333-444455556666", key: spare.key}
	both := ada.newKey(owner.AllScopes()...)
	both.cookie = ada.cookie
	signedOut := a.signIn("ada@example.org")
	signedOut.do(http.MethodPost, "/sign-out", nil).is(http.StatusNoContent)
	byScope := map[owner.Scope]*client{}
	for _, scope := range owner.AllScopes() {
		byScope[scope] = ada.newKey(scope)
	}

	for _, e := range []struct {
		method, target string
		body           any
		scope          owner.Scope
		status         int
	}{
		{"GET", "/me", nil, owner.AccountRead, 200},
		{"PATCH", "/me", "{}", owner.AccountWrite, 200},
		{"GET", "/keys", nil, owner.KeysRead, 200},
		{"POST", "/keys", `{}`, owner.KeysWrite, 422},
		{"DELETE", "/keys/" + spare.keyID, nil, owner.KeysWrite, 204},
		{"GET", "/bots", nil, owner.BotsRead, 200},
		{"POST", "/bots", `{}`, owner.BotsWrite, 422},
		{"GET", "/bots/" + bot, nil, owner.BotsRead, 200},
		{"PATCH", "/bots/" + bot, "{}", owner.BotsWrite, 200},
		{"POST", "/bots/" + bot + "/check", nil, owner.BotsWrite, 200},
		{"DELETE", "/bots/0b1c8a3e-1111-4222-8333-444455556666", nil, owner.BotsWrite, 404},
		{"GET", "/bots/" + bot + "/matches/none/decisions", nil, owner.BotsRead, 404},
	} {
		t.Run(e.method+" "+e.target, func(t *testing.T) {
			for name, who := range map[string]*client{
				"no credential": a.anyone(), "a revoked key": revoked, "another's key id": stolen, "an unknown key id": unknown,
				"a key and a session": both, "a session that ended": signedOut,
			} {
				t.Run(name, func(t *testing.T) {
					got := who.do(e.method, e.target, e.body).is(http.StatusUnauthorized, "unauthenticated")
					require.Equal(t, "not authenticated", got.json["detail"], "one and the same")
					require.NotEmpty(t, got.header.Get("WWW-Authenticate"))
				})
			}
			for scope, who := range byScope {
				t.Run("a key with "+string(scope), func(t *testing.T) {
					got := who.do(e.method, e.target, e.body)
					if scope == e.scope {
						require.Equal(t, e.status, got.status, string(got.body))
						return
					}
					got.is(http.StatusForbidden, "scope_missing")
				})
			}
			require.Equal(t, e.status, ada.do(e.method, e.target, e.body).status, "a session may do everything")
		})
	}

	t.Run("sign-out takes a session alone", func(t *testing.T) {
		byScope[owner.AccountWrite].do(http.MethodPost, "/sign-out", nil).is(http.StatusForbidden, "session_needed")
		a.anyone().do(http.MethodPost, "/sign-out", nil).is(http.StatusUnauthorized, "unauthenticated")
	})
	t.Run("anyone may read what is public, with any credential", func(t *testing.T) {
		for _, who := range []*client{a.anyone(), revoked, both, signedOut} {
			require.Equal(t, map[string]any{"status": "ok"}, who.do(http.MethodGet, "/health", nil).is(http.StatusOK).json)
		}
	})
}

func TestASignatureCoversWhatWasSent(t *testing.T) {
	a := newArena(t)
	key := a.signIn("ada@example.org").newKey()
	signedAs := func(target, body string) *answer { // signs /bots with {}, sends something else
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

func TestSignIn(t *testing.T) {
	a := newArena(t)
	anyone := a.anyone()

	t.Run("known and unknown addresses look the same", func(t *testing.T) {
		unknown := anyone.do(http.MethodPost, "/sign-in", `{"email":"ada@example.org"}`).is(http.StatusAccepted)
		a.signIn("ada@example.org")
		known := anyone.do(http.MethodPost, "/sign-in", `{"email":"ada@example.org"}`).is(http.StatusAccepted)
		require.Equal(t, unknown.body, known.body)
		require.Empty(t, known.body)
	})
	t.Run("the link is the configured address's, whatever the request calls it", func(t *testing.T) {
		a.pass(time.Millisecond)
		anyone.do(http.MethodPost, "/sign-in", `{"email":"host@example.org"}`, func(r *http.Request) {
			r.Host = "evil.example"
			r.Header.Set("X-Forwarded-Host", "evil.example")
		}).is(http.StatusAccepted)
		link, to := a.lastLink()
		require.Equal(t, "arena.example", link.Host)
		require.Equal(t, "host@example.org", to)
	})
	t.Run("GET shows a button and consumes nothing", func(t *testing.T) {
		a.pass(time.Millisecond)
		anyone.do(http.MethodPost, "/sign-in", `{"email":"scan@example.org"}`).is(http.StatusAccepted)
		link, _ := a.lastLink()
		for range 3 {
			page := anyone.do(http.MethodGet, link.RequestURI(), nil).is(http.StatusOK)
			require.Contains(t, page.header.Get("Content-Type"), "text/html")
			require.Contains(t, string(page.body), `<form method="post" action="/sign-in/confirm">`)
			require.Contains(t, string(page.body), `value="`+link.Query().Get("token")+`"`)
			require.Equal(t, "no-referrer", page.header.Get("Referrer-Policy"))
			require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
			require.Equal(t, "no-store", page.header.Get("Cache-Control"))
			require.Empty(t, page.cookies())
		}
		confirmed := anyone.do(http.MethodPost, "/sign-in/confirm", map[string]any{"token": link.Query().Get("token")}).is(http.StatusOK)
		require.Equal(t, "scan@example.org", confirmed.json["email"])
		cookie := confirmed.cookies()[0]
		require.Equal(t, "session", cookie.Name)
		require.True(t, cookie.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	})
	t.Run("a link that is used, unknown or missing", func(t *testing.T) {
		link, _ := a.lastLink()
		for _, token := range []string{link.Query().Get("token"), "unknown", ""} {
			anyone.do(http.MethodPost, "/sign-in/confirm", map[string]any{"token": token}).is(http.StatusUnauthorized, "link_invalid")
		}
		anyone.do(http.MethodGet, "/sign-in/confirm", nil).is(http.StatusUnprocessableEntity, "invalid").names("token")
	})
	t.Run("a token is only text on the page", func(t *testing.T) {
		page := anyone.do(http.MethodGet, `/sign-in/confirm?token=%22%3E%3Cscript%3Ealert(1)%3C/script%3E`, nil).is(http.StatusOK)
		require.NotContains(t, string(page.body), "<script>")
	})
	t.Run("sign-out ends the session", func(t *testing.T) {
		eve := a.signIn("eve@example.org")
		out := eve.do(http.MethodPost, "/sign-out", nil).is(http.StatusNoContent)
		require.Equal(t, -1, out.cookies()[0].MaxAge)
		eve.do(http.MethodGet, "/me", nil).is(http.StatusUnauthorized, "unauthenticated")
	})
}

func TestSignInByForms(t *testing.T) {
	a := newArena(t)
	form := func(body string) func(*http.Request) {
		return func(r *http.Request) { withBody(r, "application/x-www-form-urlencoded", body) }
	}
	browser := a.anyone()
	page := browser.do(http.MethodGet, "/sign-in", nil).is(http.StatusOK)
	require.Contains(t, string(page.body), `<form method="post" action="/sign-in">`)
	sent := browser.do(http.MethodPost, "/sign-in", nil, form("email=ada%40example.org")).is(http.StatusSeeOther)
	require.Equal(t, "/sign-in?sent=1", sent.header.Get("Location"))
	browser.do(http.MethodGet, "/sign-in?sent=1", nil).is(http.StatusOK)

	link, _ := a.lastLink()
	confirmed := browser.do(http.MethodPost, "/sign-in/confirm", nil, form("token="+link.Query().Get("token"))).is(http.StatusSeeOther)
	require.Equal(t, "/me", confirmed.header.Get("Location"))
	browser.cookie = confirmed.cookies()[0]
	require.Equal(t, "ada@example.org", browser.do(http.MethodGet, "/me", nil).is(http.StatusOK).json["email"])

	again := a.anyone().do(http.MethodPost, "/sign-in/confirm", nil, form("token="+link.Query().Get("token"))).is(http.StatusUnauthorized)
	require.True(t, strings.HasPrefix(again.header.Get("Content-Type"), "text/html"))
	require.Contains(t, string(again.body), "older than 15 minutes")
}
