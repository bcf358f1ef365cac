package main

import (
	"crypto/ed25519"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two arena processes share one log; the second does not play. If one process uses up
// a link, revokes a key or ends a session, the other process rejects that credential
// too.
func TestSecurityAcrossProcesses(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t)
	peer := launch(t, "serve", "--no-play", "--data", t.TempDir(), "--secrets", filepath.Join(f.data, "secrets.json"), "--mail", f.mails.setting,
		"--eventstore", fmt.Sprintf("esdb://%s?tls=false", f.node()), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").address()

	t.Run("a signed write runs in one of them", func(t *testing.T) {
		here := f.member(t).newKey(everyScope()...)
		there := here.elsewhere(peer)
		there.knows(t)
		for _, order := range [][2]*caller{{here, there}, {there, here}} {
			stamp := fresh()
			call := func(who *caller) *reply {
				return who.do("PATCH", "/me", "{}", who.resigned(stamp, "PATCH", "/me", "{}"))
			}
			call(order[0]).is(200)
			call(order[1]).is(401, "unauthenticated")
			call(order[0]).is(401, "unauthenticated")
		}
		var turn atomic.Int32
		stamp := fresh()
		statuses := race(t, 16, func() (*reply, error) {
			who := []*caller{here, there}[turn.Add(1)%2]
			return who.try(t.Context(), "PATCH", "/me", "{}", who.resigned(stamp, "PATCH", "/me", "{}"))
		})
		require.Equal(t, map[int]int{200: 1, 401: 15}, statuses)
	})
	t.Run("twenty keys between them", func(t *testing.T) {
		here := f.member(t)
		there := here.elsewhere(peer)
		var turn atomic.Int32
		one := func(who *caller) (*reply, error) {
			public, _, err := ed25519.GenerateKey(nil)
			if err != nil {
				return nil, err
			}
			return who.try(t.Context(), "POST", "/keys", map[string]any{"name": "raced", "publicKey": public})
		}
		statuses := race(t, 50, func() (*reply, error) { return one([]*caller{here, there}[turn.Add(1)%2]) })
		t.Logf("50 calls, half of them to each process: %v", statuses)
		require.Equal(t, 50, statuses[201]+statuses[409]+statuses[429]+statuses[503], statuses) // 503 busy: others wrote at the same time
		require.Equal(t, 20, statuses[201], statuses)
		require.Len(t, here.do("GET", "/keys", nil).is(200).json["keys"], 20)
	})
	t.Run("a revoked key and an ended session", func(t *testing.T) {
		ada := f.member(t)
		key := ada.newKey("account.read")
		for _, c := range []struct {
			there *caller
			end   func()
		}{
			{key.elsewhere(peer), func() { ada.do("DELETE", "/keys/"+key.keyID, nil).is(204) }},
			{ada.elsewhere(peer), func() { ada.do("POST", "/sign-out", nil).is(204) }},
		} {
			c.there.knows(t)
			c.end()
			ended := time.Now()
			let := 0
			again := time.NewTicker(20 * time.Millisecond) // slow enough to stay below the limit of 600 calls a minute
			defer again.Stop()
			for c.there.do("GET", "/me", nil).status != 401 {
				let++
				require.Less(t, time.Since(ended), patience, "accepted by the other process")
				<-again.C
			}
			t.Logf("the other process accepted %d calls for %s", let, time.Since(ended).Round(100*time.Microsecond))
			for range 20 {
				c.there.do("GET", "/me", nil).is(401, "unauthenticated")
			}
		}
	})
}

// The method knows() waits until the caller's process accepts its credentials.
func (c *caller) knows(t *testing.T) {
	t.Helper()
	eventually(t, "the peer knows the caller", func() bool { return c.do("GET", "/me", nil).status == 200 })
}

// Used links, revoked keys and ended sessions stay invalid after the process is
// killed and another process starts.
func TestSecurityAcrossARestart(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t)
	ada, eve := f.member(t), f.member(t)
	key, revoked := ada.newKey(everyScope()...), ada.newKey("account.read")
	token := f.anonymous(t).token(f.mails, "before@example.org")
	f.anonymous(t).do("POST", "/sign-in/confirm", map[string]string{"token": token}).is(200)
	unused := f.anonymous(t).token(f.mails, "unused@example.org")
	ada.do("DELETE", "/keys/"+revoked.keyID, nil).is(204)
	eve.do("POST", "/sign-out", nil).is(204)
	stamp := fresh()
	write := func(who *caller) *reply {
		return who.do("PATCH", "/me", `{"name":"before"}`, who.resigned(stamp, "PATCH", "/me", `{"name":"before"}`))
	}
	write(key).is(200)
	key.do("PATCH", "/me", `{"name":"then"}`).is(200)
	f.arena.kill()

	f.start()
	at := f.address()
	write(key.elsewhere(at)).is(401, "unauthenticated")
	require.Equal(t, "then", key.elsewhere(at).do("GET", "/me", nil).is(200).json["name"])
	revoked.elsewhere(at).do("GET", "/me", nil).is(401, "unauthenticated")
	eve.elsewhere(at).do("GET", "/me", nil).is(401, "unauthenticated")
	ada.elsewhere(at).do("GET", "/me", nil).is(200)
	f.anonymous(t).do("POST", "/sign-in/confirm", map[string]string{"token": token}).is(401, "link_invalid")
	f.anonymous(t).do("POST", "/sign-in/confirm", map[string]string{"token": unused}).is(200)
}
