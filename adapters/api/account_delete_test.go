package api_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

func TestDeleteMe(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	other := a.signIn("ada@example.org")
	key := ada.newKey(owner.AllScopes()...)
	ada.do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusOK)
	ada.newBot("bot", "standard")
	before := ada.do(http.MethodGet, "/me", nil).is(http.StatusOK).json["id"]

	key.do(http.MethodDelete, "/me", nil).is(http.StatusForbidden, "session_needed")
	a.anyone().do(http.MethodDelete, "/me", nil).is(http.StatusUnauthorized, "unauthenticated")
	ada.do(http.MethodDelete, "/me", "{}").is(http.StatusBadRequest, "unexpected_body")
	require.Equal(t, -1, ada.do(http.MethodDelete, "/me", nil).is(http.StatusNoContent).cookies()[0].MaxAge)
	for _, who := range []*client{ada, other, key} {
		who.do(http.MethodGet, "/bots", nil).is(http.StatusUnauthorized, "unauthenticated")
	}
	ada.do(http.MethodDelete, "/me", nil).is(http.StatusUnauthorized, "unauthenticated")
	for _, err := range a.log.Read(t.Context(), eventstore.StreamID(owner.AddressStream(before.(string))), 0, eventstore.ReadOptions{}) {
		require.ErrorIs(t, err, eventstore.ErrStreamDeleted)
	}

	again := a.signIn("ada@example.org")
	me := again.do(http.MethodGet, "/me", nil).is(http.StatusOK)
	require.NotEqual(t, before, me.json["id"])
	require.Empty(t, me.json["name"])
	require.Equal(t, "ada@example.org", me.json["email"])
	require.Empty(t, again.do(http.MethodGet, "/bots", nil).is(http.StatusOK).json["bots"])
	again.do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusConflict, "handle_taken")
	a.pass(owner.HandleReserved - 2*time.Second)
	a.signIn("ada@example.org").do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusConflict, "handle_taken")
	a.pass(2 * time.Second)
	a.signIn("ada@example.org").do(http.MethodPatch, "/me", `{"name":"ada"}`).is(http.StatusOK)
}

// A suspended account can read, sign in and sign out, but not write.
func TestSuspendedAccountCannotWrite(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	bot := ada.newBot("bot", "standard")
	key := ada.newKey(owner.AllScopes()...)
	id := ada.do(http.MethodGet, "/me", nil).is(http.StatusOK).json["id"].(string)
	a.store(t, id, owner.Suspended{Reason: "abuse"})
	ada = a.signIn("ada@example.org")
	for _, who := range []*client{ada, key} {
		require.Equal(t, "paused", who.do(http.MethodGet, "/bots/"+bot, nil).is(http.StatusOK).json["status"])
		for _, write := range []struct{ method, target, body string }{
			{"PATCH", "/me", "{}"}, {"POST", "/keys", "{}"}, {"DELETE", "/keys/" + key.keyID, ""}, {"POST", "/bots", "{}"},
			{"PATCH", "/bots/" + bot, `{"status":"active"}`}, {"DELETE", "/bots/" + bot, ""}, {"POST", "/bots/" + bot + "/check", ""},
		} {
			var body any
			if write.body != "" {
				body = write.body
			}
			a.pass(time.Millisecond) // a fresh timestamp
			who.do(write.method, write.target, body).is(http.StatusForbidden, "suspended")
		}
	}
	ada.do(http.MethodDelete, "/me", nil).is(http.StatusForbidden, "suspended")
	ada.do(http.MethodPost, "/sign-out", nil).is(http.StatusNoContent)

	a.store(t, id, owner.Restored{Reason: "settled"}, owner.BotPaused{BotID: bot, By: owner.ByOperator, Reason: "floods"})
	ada = a.signIn("ada@example.org")
	ada.do(http.MethodPatch, "/bots/"+bot, `{"status":"active"}`).is(http.StatusConflict, "suspended")
	require.Equal(t, "paused", ada.do(http.MethodPatch, "/bots/"+bot, `{"name":"tob"}`).is(http.StatusOK).json["status"])
	a.store(t, id, owner.BotUnpaused{BotID: bot, By: owner.ByOperator, Reason: "fixed"})
	require.Equal(t, "active", ada.do(http.MethodGet, "/bots/"+bot, nil).is(http.StatusOK).json["status"])
}

// store appends events to an account directly, without the API, as an operator's
// process does.
func (a *arena) store(t *testing.T, ownerID string, events ...owner.Event) {
	t.Helper()
	a.mu.Lock()
	m := eventstore.Metadata{At: a.now, Correlation: "test"}
	a.mu.Unlock()
	encoded, err := eventstore.EncodeAll(events, m)
	require.NoError(t, err)
	_, err = a.log.Append(t.Context(), eventstore.StreamID(owner.AccountStream(ownerID)), eventstore.Exists, encoded...)
	require.NoError(t, err)
}

// Concurrent calls change an account's handle back and forth. In the end, the account
// owns the handle that the API shows for it, and has released all others.
func TestConcurrentHandleChanges(t *testing.T) {
	a := newArena(t)
	ada := a.signIn("ada@example.org")
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			status := ada.do(http.MethodPatch, "/me", fmt.Sprintf(`{"name":"handle-%d"}`, i%3)).status
			require.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, status)
		})
	}
	all.Wait()
	named := ada.do(http.MethodGet, "/me", nil).is(http.StatusOK).json["name"].(string)
	a.pass(time.Hour)
	bob := a.signIn("bob@example.org")
	for i := range 3 {
		handle := fmt.Sprintf("handle-%d", i)
		bob.do(http.MethodPatch, "/me", map[string]any{"name": handle}).is(http.StatusConflict, "handle_taken")
	}
	a.pass(owner.HandleReserved)
	bob = a.signIn("bob@example.org")
	for i := range 3 {
		handle := fmt.Sprintf("handle-%d", i)
		want := http.StatusOK
		if handle == named {
			want = http.StatusConflict
		}
		require.Equal(t, want, bob.do(http.MethodPatch, "/me", map[string]any{"name": handle}).status, handle)
	}
}
