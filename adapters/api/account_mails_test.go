package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
)

// An owner switches each kind of email on or off. A patch changes nothing else.
func TestOwnerSwitchesMails(t *testing.T) {
	a := newArena(t)
	ada, bob := a.signIn("ada@example.org"), a.signIn("bob@example.org")
	type mails = map[string]any
	shown := func(who *client) any { return who.do(http.MethodGet, "/me", nil).is(http.StatusOK).json["mails"] }
	all := mails{"failing": true, "unreachable": true, "recovered": true}
	require.Equal(t, all, shown(ada))

	patch := func(body string) any {
		return ada.do(http.MethodPatch, "/me", body).is(http.StatusOK).json["mails"]
	}
	require.Equal(t, mails{"failing": false, "unreachable": true, "recovered": true}, patch(`{"mails":{"failing":false}}`))
	require.Equal(t, mails{"failing": true, "unreachable": false, "recovered": false}, patch(`{"mails":{"failing":true,"unreachable":false,"recovered":false}}`))
	want := mails{"failing": true, "unreachable": false, "recovered": false}
	require.Equal(t, want, patch(`{"mails":{}}`))
	require.Equal(t, want, patch(`{"mails":{"unreachable":false}}`))
	require.Equal(t, want, patch(`{"name":"ada"}`))
	both := ada.do(http.MethodPatch, "/me", `{"name":"bea","mails":{"recovered":true}}`).is(http.StatusOK).json
	require.Equal(t, "bea", both["name"])
	require.Equal(t, mails{"failing": true, "unreachable": false, "recovered": true}, both["mails"])
	require.Equal(t, both["mails"], shown(ada))
	require.Equal(t, all, shown(bob), "the account of another owner")

	bob.do(http.MethodPatch, "/me", `{"name":"bea","mails":{"failing":false}}`).is(http.StatusConflict, "handle_taken")
	require.Equal(t, all, shown(bob), "a refused call changes nothing")
	for body, field := range map[string]string{
		`{"mails":{"failing":"off"}}`: "mails", `{"mails":true}`: "mails", `{"mails":null}`: "mails",
		`{"mails":{"failing":null}}`: "mails.failing", `{"mails":{"paused":true}}`: "mails.paused", `{"mails":{"Failing":true}}`: "mails.Failing",
	} {
		faults := ada.do(http.MethodPatch, "/me", body).is(http.StatusUnprocessableEntity, "invalid").json["errors"].([]any)
		require.Len(t, faults, 1)
		require.Equal(t, field, faults[0].(map[string]any)["field"])
	}
	reader := ada.newKey(owner.AccountRead)
	require.Equal(t, both["mails"], shown(reader))
	reader.do(http.MethodPatch, "/me", `{"mails":{"failing":false}}`).is(http.StatusForbidden, "scope_missing")
	writer := ada.newKey(owner.AccountWrite)
	require.Equal(t, mails{"failing": false, "unreachable": false, "recovered": true}, writer.do(http.MethodPatch, "/me", `{"mails":{"failing":false}}`).is(http.StatusOK).json["mails"])
	a.anyone().do(http.MethodPatch, "/me", `{"mails":{"failing":false}}`).is(http.StatusUnauthorized, "unauthenticated")
}
