package client_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/auth"
	"hexarena/adapters/client"
	"hexarena/eventstore/logtest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newClient(t *testing.T, o client.Options, handler http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.Base = server.URL
	c, err := client.New(o)
	require.NoError(t, err)
	return c
}

func newKey(t *testing.T) client.Key {
	t.Helper()
	private, err := client.NewPrivate()
	require.NoError(t, err)
	return client.Key{ID: "key-1", Private: private}
}

// The signature covers the method, the target and the body exactly as they are sent.
func TestSignedCall(t *testing.T) {
	key := newKey(t)
	var message string
	c := newClient(t, client.Options{Key: &key, Session: "session=secret", Now: func() time.Time { return noon }},
		func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			message = r.Header.Get("x-arena-timestamp") + "." + r.Method + "." + r.RequestURI + "." + string(body)
			signature, err := base64.StdEncoding.DecodeString(r.Header.Get("x-arena-signature"))
			if err != nil || r.Header.Get("x-arena-key") != "key-1" || r.Header.Get("Cookie") != "" ||
				!ed25519.Verify(key.Private.Public().(ed25519.PublicKey), []byte(message), signature) {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = io.WriteString(w, `{"id":"b"}`)
		})
	answer, err := c.Call(t.Context(), http.MethodPost, "/bots?a=%20b&c", map[string]string{"name": "Ada <&>"})
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"b"}`, string(answer.Body))
	require.Equal(t, `1795262400000.POST./bots?a=%20b&c.{"name":"Ada \u003c\u0026\u003e"}`, message)

	_, err = c.Call(t.Context(), http.MethodGet, "/me", nil)
	require.NoError(t, err)
	require.Equal(t, "1795262400000.GET./me.", message)
}

func TestKeyFormatsRoundTrip(t *testing.T) {
	key := newKey(t)
	text, err := client.EncodePrivate(key.Private)
	require.NoError(t, err)
	back, err := client.ParsePrivate(text)
	require.NoError(t, err)
	require.Equal(t, key.Private, back)

	line, err := client.PublicLine(key.Private)
	require.NoError(t, err)
	public, err := auth.ParsePublicKey(line)
	require.NoError(t, err)
	require.Equal(t, key.Private.Public(), public)
	_, err = auth.ParsePublicKey(string(text))
	require.Error(t, err, "the arena must not accept a private key")

	for name, text := range map[string]string{
		"empty":        "",
		"a public key": line,
		"truncated":    string(text[:len(text)-40]) + "-----END PRIVATE KEY-----\n",
		"another kind": "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n",
		"no key in it": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	} {
		_, err := client.ParsePrivate([]byte(text))
		require.ErrorIs(t, err, client.ErrNoPrivateKey, name)
	}
}

func TestBaseNormalizesAndChecks(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8080":  "http://127.0.0.1:8080",
		"https://Arena.Example/": "https://arena.example",
		"http://[::1]:8080":      "http://[::1]:8080",
		"":                       "",
		"arena.example":          "",
		"ftp://arena.example":    "",
		"http://":                "",
		"http://a/path":          "",
		"http://a?q":             "",
		"http://me@a":            "",
		"http://a b":             "",
	} {
		got, err := client.Base(text)
		require.Equal(t, want, got, text)
		if want == "" {
			require.ErrorIs(t, err, client.ErrBase, text)
		}
	}
}

func TestRefusalIsOneLine(t *testing.T) {
	const problem = "application/problem+json"
	for name, c := range map[string]struct {
		status   int
		kind     string
		body     string
		headers  map[string]string
		want     string
		code     string
		requests string
	}{
		"a field": {422, problem, `{"code":"invalid","detail":"name is missing","errors":[{"in":"body","field":"name","message":"is missing"}]}`, nil,
			"refused (422 invalid): name is missing", "invalid", ""},
		"fields that the detail does not name": {422, problem, `{"code":"invalid","detail":"two fields are wrong","errors":[{"field":"name","message":"is missing"},{"field":"url","message":"is not a URL"}]}`, nil,
			"refused (422 invalid): two fields are wrong; name is missing; url is not a URL", "invalid", ""},
		"a limit": {429, problem, `{"code":"rate_limited","detail":"too many calls"}`, map[string]string{"Retry-After": "12"},
			"refused (429 rate_limited): too many calls; try again in 12 s", "rate_limited", ""},
		"a limit whose detail has the time": {429, problem, `{"code":"rate_limited","detail":"more than 600 calls within 60 s: try again in 12 s"}`, map[string]string{"Retry-After": "12"},
			"refused (429 rate_limited): more than 600 calls within 60 s: try again in 12 s", "rate_limited", ""},
		"too many streams": {429, problem, `{"code":"rate_limited","detail":"8 streams are open from this address: close one, or try again in 5 s"}`, map[string]string{"Retry-After": "5"},
			"refused (429 rate_limited): 8 streams are open from this address: close one, or try again in 5 s", "rate_limited", ""},
		"a conflict": {503, problem, `{"code":"busy","detail":"too many writes at the same time: try again"}`, map[string]string{"Retry-After": "1"},
			"refused (503 busy): too many writes at the same time; try again in 1 s", "busy", ""},
		"an internal error": {500, problem, `{"code":"internal","detail":"internal error","requestId":"r-1"}`, nil,
			"refused (500 internal): internal error (request r-1)", "internal", "r-1"},
		"without a detail": {404, problem, `{"title":"Not Found"}`, nil, "refused (404): Not Found", "", ""},
		"control characters": {409, problem, `{"code":"x","detail":"a\u001b[31m\nb\u202ec"}`, nil,
			"refused (409 x): a [31m b c", "x", ""},
		"a proxy's page": {502, "text/html", `<h1>Bad Gateway</h1>`, nil, "refused (502): Bad Gateway: the response does not come from an arena", "", ""},
		"plain text":     {403, "text/plain; charset=utf-8", "the host in the URL must be an IP address or localhost\n", nil, "refused (403): Forbidden: the host in the URL must be an IP address or localhost", "", ""},
		"invalid JSON":   {400, problem, `{`, nil, "refused (400): Bad Request: the response does not come from an arena", "", ""},
		"a redirect":     {302, "text/html", "", map[string]string{"Location": "http://127.0.0.1:1/"}, "refused (302): Found: the response does not come from an arena", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newClient(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				for name, value := range c.headers {
					w.Header().Set(name, value)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := cl.Call(t.Context(), http.MethodGet, "/me", nil)
			require.EqualError(t, err, c.want)
			var refusal *client.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.status, refusal.Status)
			require.Equal(t, c.code, refusal.Code)
			require.Equal(t, c.requests, refusal.RequestID)
			require.Equal(t, c.body, string(refusal.Body))
		})
	}
}

func TestSessionIsSentAndCookiesAreReturned(t *testing.T) {
	c := newClient(t, client.Options{Session: "session=a.b"}, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "seen-" + r.Header.Get("Cookie")}) //nolint:gosec // no browser stores it
	})
	answer, err := c.Call(t.Context(), http.MethodPost, "/sign-out", nil)
	require.NoError(t, err)
	require.Equal(t, "seen-session=a.b", answer.Cookies[0].Value)
}

// The error contains the arena's base URL but not the path, which may contain a
// token.
func TestUnreachableArena(t *testing.T) {
	base := "http://" + logtest.ClosedAddress(t)
	c, err := client.New(client.Options{Base: base})
	require.NoError(t, err)
	_, err = c.Call(t.Context(), http.MethodGet, "/secret", nil)
	require.ErrorContains(t, err, base+" does not respond: ")
	require.NotContains(t, err.Error(), "secret")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Call(ctx, http.MethodGet, "/secret", nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTooLongAnswerIsAnError(t *testing.T) {
	c := newClient(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat("a", 1<<20))
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	_, err := c.Call(t.Context(), http.MethodGet, "/", nil)
	require.ErrorContains(t, err, "sent a response of more than 67108864 bytes")
}
