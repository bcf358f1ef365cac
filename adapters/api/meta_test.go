package api_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/domain/owner"
)

func newPublicKey() ed25519.PublicKey {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return public
}

func claimedBy(ownerID string) owner.Event { return owner.NameClaimed{OwnerID: ownerID} }

func TestMeta(t *testing.T) {
	a := newArena(t)
	health := a.anyone().do(http.MethodGet, "/health", nil).is(http.StatusOK)
	require.JSONEq(t, `{"status":"ok"}`, string(health.body))
	require.Equal(t, "application/json", health.header.Get("Content-Type"))
	require.Equal(t, "nosniff", health.header.Get("X-Content-Type-Options"))

	known := a.anyone().do(http.MethodGet, "/.well-known/arena.json", nil).is(http.StatusOK)
	require.Equal(t, map[string]any{"publicKey": base64.StdEncoding.EncodeToString(a.platform)}, known.json)
}

func TestDescription(t *testing.T) {
	a := newArena(t)
	document := a.anyone().do(http.MethodGet, "/openapi.json", nil).is(http.StatusOK).json
	require.Equal(t, "3.1.1", document["openapi"])
	require.Equal(t, "1", document["info"].(map[string]any)["version"])
	paths := document["paths"].(map[string]any)
	for path, methods := range map[string][]string{
		"/bots": {"get", "post"}, "/bots/{id}": {"get", "patch", "delete"}, "/bots/{id}/check": {"post"}, "/keys": {"get", "post"},
		"/keys/{id}": {"delete"}, "/me": {"get", "patch"}, "/sign-in": {"post"}, "/sign-in/confirm": {"post"}, "/sign-out": {"post"},
		"/health": {"get"}, "/.well-known/arena.json": {"get"},
	} {
		require.Contains(t, paths, path)
		require.Len(t, paths[path], len(methods), path)
		for _, m := range methods {
			operation := paths[path].(map[string]any)[m].(map[string]any)
			require.NotEmpty(t, operation["summary"], path)
			require.Contains(t, operation["responses"], "default", path)
		}
	}
	patch := paths["/bots/{id}"].(map[string]any)["patch"].(map[string]any)
	id := patch["parameters"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"id", "path", true}, []any{id["name"], id["in"], id["required"]})
	require.Contains(t, patch, "requestBody")
	mode := paths["/bots"].(map[string]any)["get"].(map[string]any)["parameters"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"mode", "query", nil}, []any{mode["name"], mode["in"], mode["required"]})
	require.Contains(t, document["components"].(map[string]any)["schemas"], "Problem")
}

func TestNewRefusesWhatIsMissing(t *testing.T) {
	_, err := api.New(api.Options{})
	require.Error(t, err)
}

func TestAPanicIsAnInternalError(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	a.during = func(string) { panic("the secret of the checker") }
	broken := ada.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://x.example"}`).is(http.StatusInternalServerError, "internal")
	require.NotContains(t, string(broken.body), "secret")
	ada.do(http.MethodGet, "/bots", nil).is(http.StatusOK)
}
