package api_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/domain/beacon"
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

	quicknet := beacon.Quicknet().Info()
	a = newArena(t, func(o *api.Options) { o.Beacon = &quicknet })
	known = a.anyone().do(http.MethodGet, "/.well-known/arena.json", nil).is(http.StatusOK)
	require.Equal(t, base64.StdEncoding.EncodeToString(a.platform), known.json["publicKey"])
	text, err := json.Marshal(known.json["beacon"])
	require.NoError(t, err)
	chain, err := beacon.ParseInfo(text)
	require.NoError(t, err)
	require.Equal(t, beacon.Quicknet(), chain)
}

func TestNewRequiresItsOptions(t *testing.T) {
	_, err := api.New(api.Options{})
	require.Error(t, err)
}

func TestPanicIsAnInternalError(t *testing.T) {
	var logged strings.Builder
	a := newArena(t, func(o *api.Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	ada := a.signIn("ada@example.org")
	a.during = func(string) { panic("the secret of the checker") }
	broken := ada.do(http.MethodPost, "/bots", `{"name":"x","mode":"standard","url":"https://x.example"}`).is(http.StatusInternalServerError, "internal")
	require.NotContains(t, string(broken.body), "secret")
	require.Contains(t, logged.String(), "meta_test.go", "the log shows the stack")
	require.Contains(t, logged.String(), broken.json["requestId"])
	ada.do(http.MethodGet, "/bots", nil).is(http.StatusOK)
}

// The server handles HEAD like GET, and net/http drops the body.
func TestHeadIsAnswered(t *testing.T) {
	a := newArena(t)
	for target, status := range map[string]int{"/matches?limit=1": http.StatusOK, "/nowhere": http.StatusNotFound} {
		w := httptest.NewRecorder()
		a.server.ServeHTTP(w, httptest.NewRequest(http.MethodHead, target, nil))
		require.Equal(t, status, w.Code, target)
	}
}
