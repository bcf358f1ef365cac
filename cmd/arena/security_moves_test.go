package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/eventstore/logtest"
)

// These tests check that a public key works in only one account, and moves to another
// account only with a proof.
func TestSecurityMoves(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t)
	f.each(t, map[string]func(*testing.T){
		"another owner's public key":       f.anothersPublicKey,
		"a public key registered too soon": f.aKeyRegisteredTooSoon,
		"wrong proofs":                     f.wrongProofs,
		"one key, raced by four accounts":  f.oneKeyRaced,
		"the page names the command":       f.thePageNamesTheCommand,
	})
}

// pair returns a key pair that no account has registered.
func pair(t *testing.T) (public ed25519.PublicKey, private ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	return public, private
}

// The method proof() signs the challenge as docs/protocol.md describes it.
func (f *securityArena) proof(t *testing.T, private ed25519.PrivateKey, accountID string) string {
	t.Helper()
	base, err := url.Parse(f.base())
	require.NoError(t, err)
	public := base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey))
	return base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte("hexarena key proof\n"+base.Host+"\n"+accountID+"\n"+public)))
}

func (c *caller) accountID() string {
	c.t.Helper()
	return c.do("GET", "/me", nil).is(200).json["id"].(string)
}

// registration returns the body of a call that registers a key.
func registration(public ed25519.PublicKey, proof string) map[string]any {
	body := map[string]any{"name": "moved", "publicKey": base64.StdEncoding.EncodeToString(public)}
	if proof != "" {
		body["proof"] = proof
	}
	return body
}

// c.as returns a caller who signs with the given key, under the given key id.
func (c *caller) as(keyID any, private ed25519.PrivateKey) *caller {
	k := c.elsewhere(c.at)
	k.cookie, k.keyID, k.key = nil, keyID.(string), private
	return k
}

// neverShared requires that a public key was active in at most one account at every
// position of the log. It returns the number of its active registrations at the end.
func (f *securityArena) neverShared(t *testing.T, public ed25519.PublicKey) int {
	t.Helper()
	log, err := esdb.Open(fmt.Sprintf("esdb://%s?tls=false", f.node()), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	active := map[string]bool{}
	for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		if _, ok := owner.ParseAccountStream(string(r.Stream)); !ok {
			continue
		}
		e, err := owner.Decode(r.Type, r.Data)
		require.NoError(t, err)
		switch e := e.(type) {
		case owner.APIKeyRegistered:
			if public.Equal(ed25519.PublicKey(e.PublicKey)) {
				require.Empty(t, active, "registered as %s", e.KeyID)
				active[e.KeyID] = true
			}
		case owner.APIKeyRevoked:
			delete(active, e.KeyID)
		}
	}
	return len(active)
}

// activeKeys counts the keys of an account that are not revoked.
func (c *caller) activeKeys() int {
	c.t.Helper()
	list := c.do("GET", "/keys", nil).is(200)
	return strings.Count(string(list.body), `"revokedAt":null`)
}

func (f *securityArena) anothersPublicKey(t *testing.T) {
	ada, eve := f.member(t), f.member(t)
	public, private := pair(t)
	hers := ada.do("POST", "/keys", registration(public, "")).is(201).json["id"]
	hersToo := f.proof(t, private, ada.accountID())
	refusal := eve.do("POST", "/keys", registration(public, "")).is(409, "proof_needed")
	require.Contains(t, refusal.json["detail"], "arena keys add")
	eve.do("POST", "/keys", registration(public, hersToo)).is(422, "invalid").names("proof")
	require.Zero(t, eve.activeKeys())
	ada.as(hers, private).do("GET", "/bots", nil).is(200)
}

// Eve finds someone's public key and registers it before its owner does. The owner's
// proof takes the key from her, and she gets an email.
func (f *securityArena) aKeyRegisteredTooSoon(t *testing.T) {
	const address = "too-soon@example.org"
	ada, eve := f.member(t), f.anonymous(t)
	eve.signIn(f.mails, address)
	public, private := pair(t)
	early := eve.do("POST", "/keys", registration(public, "")).is(201).json["id"]
	eve.as(early, private).do("GET", "/bots", nil).is(200)
	ada.do("POST", "/keys", registration(public, "")).is(409, "proof_needed")
	moved := ada.do("POST", "/keys", registration(public, f.proof(t, private, ada.accountID()))).is(201).json["id"]
	// Eve captures a signed call, and sends it again under the id that the key has in
	// her account.
	stamp := fresh()
	signed := ada.as(moved, private)
	signed.do("GET", "/bots", nil, signed.resigned(stamp, "GET", "/bots", "")).is(200)
	replayed := eve.as(early, private)
	replayed.do("GET", "/bots", nil, replayed.resigned(stamp, "GET", "/bots", "")).is(401, "unauthenticated")
	require.Equal(t, [2]int{0, 1}, [2]int{eve.activeKeys(), ada.activeKeys()})
	mail := f.mails.await(t, address, 2)
	require.Equal(t, "Your Hex Arena key moved to another account", mail.header.Get("Subject"))
	require.Contains(t, mail.text, early)
	require.NotContains(t, mail.text, ada.accountID())
}

func (f *securityArena) wrongProofs(t *testing.T) {
	ada, eve := f.member(t), f.member(t)
	public, private := pair(t)
	_, another := pair(t)
	ada.do("POST", "/keys", registration(public, "")).is(201)
	me := eve.accountID()
	elsewhere := ed25519.Sign(private, []byte("hexarena key proof\nother.example\n"+me+"\n"+base64.StdEncoding.EncodeToString(public)))
	for what, proof := range map[string]string{
		"of another account": f.proof(t, private, ada.accountID()),
		"to another arena":   base64.StdEncoding.EncodeToString(elsewhere),
		"by another key":     f.proof(t, another, me),
		"of a signed call":   base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(fresh()+".POST./keys."))),
		"no signature":       "x",
	} {
		got := eve.do("POST", "/keys", registration(public, proof))
		require.Equal(t, 422, got.status, what)
		got.names("proof")
	}
	require.Equal(t, [2]int{0, 1}, [2]int{eve.activeKeys(), ada.activeKeys()})
}

// Several owners of the same key pair register it at the same time, half of them with
// a proof. In the end, exactly one account has the key, and the registrations in all
// other accounts are revoked.
func (f *securityArena) oneKeyRaced(t *testing.T) {
	public, private := pair(t)
	var all []*caller
	var bodies []map[string]any
	for i := range 4 {
		who := f.member(t)
		proof := ""
		if i%2 == 0 {
			proof = f.proof(t, private, who.accountID())
		}
		all, bodies = append(all, who), append(bodies, registration(public, proof))
	}
	var turn atomic.Int32
	statuses := race(t, 40, func() (*reply, error) {
		i := int(turn.Add(1)) % len(all)
		return all[i].try(t.Context(), "POST", "/keys", bodies[i])
	})
	t.Logf("40 calls by 4 accounts: %v", statuses)
	require.Equal(t, 40, statuses[201]+statuses[409]+statuses[503], statuses)
	f.neverShared(t, public)
	if r := all[0].do("POST", "/keys", bodies[0]); r.status != 201 {
		r.is(409, "key_exists")
	}
	require.Equal(t, 1, all[0].activeKeys())
	for _, who := range all[1:] {
		require.Zero(t, who.activeKeys())
	}
}

func (f *securityArena) thePageNamesTheCommand(t *testing.T) {
	ada, eve := f.member(t), f.member(t)
	public, _ := pair(t)
	ada.do("POST", "/keys", registration(public, "")).is(201)
	form := url.Values{"name": {"laptop"}, "publicKey": {base64.StdEncoding.EncodeToString(public)}, "scopes": {"bots.read"}}.Encode()
	page := eve.do("POST", "/dashboard/keys", form, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", "text/html")
	}).is(409)
	require.Contains(t, string(page.body), "Another account uses this key")
	require.Contains(t, string(page.body), "arena keys add NAME --key FILE")
}

// The process is killed between the writes of a move, and at random times. The key
// never works in both accounts. A repeated call completes the move, and the owner who
// loses the key gets one email about it.
func TestSecurityMovesSurviveKill9(t *testing.T) {
	t.Parallel()
	for point, want := range map[string][2]int{atClaimed: {1, 0}, atYielded: {0, 0}} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newSecurityArena(t)
			address := point + "@example.org"
			ada, eve := f.member(t), f.anonymous(t)
			eve.signIn(f.mails, address)
			public, private := pair(t)
			early := eve.do("POST", "/keys", registration(public, "")).is(201).json["id"]
			account := ada.accountID()
			f.stop()

			f.env = []string{holdAt + "=" + point}
			f.start()
			held, proof := ada.elsewhere(f.address()), f.proof(t, private, account)
			failed := make(chan error, 1)
			go func() {
				_, err := held.try(t.Context(), "POST", "/keys", registration(public, proof))
				failed <- err
			}()
			f.arena.await("held at " + point)
			f.arena.kill()
			require.Error(t, <-failed, "the call got no answer")

			f.env = nil
			f.start()
			ada, eve = ada.elsewhere(f.address()), eve.elsewhere(f.address())
			require.Equal(t, want, [2]int{eve.activeKeys(), ada.activeKeys()})
			moved := ada.do("POST", "/keys", registration(public, f.proof(t, private, account))).is(201).json["id"]
			ada.as(moved, private).do("GET", "/bots", nil).is(200)
			eve.as(early, private).do("GET", "/bots", nil).is(401, "unauthenticated")
			require.Equal(t, [2]int{0, 1}, [2]int{eve.activeKeys(), ada.activeKeys()})
			require.Equal(t, 1, f.neverShared(t, public))
			for range 2 { // when the arena starts, it sends the emails that it still owes
				f.stop()
				f.start()
				f.mails.await(t, address, 2)
				eventually(t, "the email is recorded", func() bool { return strings.Contains(f.events(t), `"about":"moved_key"`) })
			}
			f.anonymous(t).signIn(f.mails, "last-"+address)
			require.Len(t, f.mails.to(address), 2, "one email about the sign-in, and one about the key")
			require.Equal(t, 1, strings.Count(f.events(t), `"about":"moved_key"`))
		})
	}
	t.Run("random times", func(t *testing.T) {
		t.Parallel()
		random := logtest.Random(t)
		f := newSecurityArena(t)
		movers := []*caller{f.member(t), f.member(t)}
		public, private := pair(t)
		movers[0].do("POST", "/keys", registration(public, "")).is(201)
		accounts := []string{movers[0].accountID(), movers[1].accountID()}
		outcomes := map[string]int{}
		for kill := range 8 {
			mover := movers[(kill+1)%2]
			body := registration(public, f.proof(t, private, accounts[(kill+1)%2]))
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = mover.try(t.Context(), "POST", "/keys", body)
			}()
			pause(time.Duration(random.IntN(12_000)) * time.Microsecond)
			f.arena.kill()
			<-done
			f.start()
			for i := range movers {
				movers[i] = movers[i].elsewhere(f.address())
			}
			active := [2]int{movers[0].activeKeys(), movers[1].activeKeys()}
			require.LessOrEqual(t, active[0]+active[1], 1)
			outcomes[fmt.Sprint(active[(kill+1)%2], " of the mover, ", active[kill%2], " of the other")]++
			// The mover repeats the call, now to the host of the new process.
			r := movers[(kill+1)%2].do("POST", "/keys", registration(public, f.proof(t, private, accounts[(kill+1)%2])))
			if r.status != 201 {
				r.is(409, "key_exists")
			}
			require.Equal(t, 1, movers[(kill+1)%2].activeKeys())
			require.Zero(t, movers[kill%2].activeKeys())
		}
		require.Equal(t, 1, f.neverShared(t, public))
		t.Logf("active keys after 8 kills: %v", outcomes)
	})
}

// Through two processes, different accounts register the same key at the same time.
func TestSecurityMovesAcrossProcesses(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t, "--base-url", "http://arena.example")
	peer := launch(t, "serve", "--no-play", "--data", t.TempDir(), "--secrets", filepath.Join(f.data, "secrets.json"), "--mail", f.mails.setting, "--base-url", "http://arena.example",
		"--eventstore", fmt.Sprintf("esdb://%s?tls=false", f.node()), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").address()
	ada, eve := f.member(t), f.member(t)
	there := eve.elsewhere(peer)
	there.knows(t)
	public, private := pair(t)
	bodies := []map[string]any{registration(public, f.proof(t, private, ada.accountID())), registration(public, f.proof(t, private, eve.accountID()))}
	var turn atomic.Int32
	statuses := race(t, 24, func() (*reply, error) {
		i := int(turn.Add(1)) % 2
		return []*caller{ada, there}[i].try(t.Context(), "POST", "/keys", bodies[i])
	})
	t.Logf("12 calls to each process, with proofs: %v", statuses)
	require.Equal(t, 24, statuses[201]+statuses[409]+statuses[503], statuses)
	f.neverShared(t, public)
	if r := there.do("POST", "/keys", bodies[1]); r.status != 201 {
		r.is(409, "key_exists")
	}
	require.Equal(t, 1, f.neverShared(t, public))
	require.Equal(t, 1, there.activeKeys())
	eventually(t, "the first process knows this too", func() bool { return ada.activeKeys() == 0 && eve.activeKeys() == 1 })
}
