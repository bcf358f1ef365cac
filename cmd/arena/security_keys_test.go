package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// These tests check which formats of keys the arena accepts, which calls a key may
// make, and that owners reach only their own keys and bots.
func TestSecurityKeys(t *testing.T) {
	t.Parallel()
	f := newSecurityArena(t)
	f.each(t, map[string]func(*testing.T){
		"invalid keys":                                 f.keysThatAreNone,
		"a private key pasted by mistake":              f.aPrivateKeyPasted,
		"a key cannot give a scope that it lacks":      f.noScopeThatItLacks,
		"a key without the scope":                      f.aKeyWithoutTheScope,
		"another owner's bots and keys return 404":     f.anothersThings,
		"twenty keys, raced":                           f.twentyKeys,
		"five active bots, raced":                      f.fiveActiveBots,
		"a revocation in the middle of a flood":        f.aRevocationInAFlood,
		"a sign-out in the middle of a flood":          f.aSignOutInAFlood,
		"a stranger signs with another owner's key id": f.underAnothersKeyID,
	})
}

func (f *securityArena) keysThatAreNone(t *testing.T) {
	ada := f.member(t)
	public, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	rsaDER, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	require.NoError(t, err)
	rsaLine, err := ssh.NewPublicKey(rsaKey.Public())
	require.NoError(t, err)
	sshKey, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sshKey)))
	standard := base64.StdEncoding.EncodeToString
	for what, text := range map[string]string{
		"small order":       ofHex(t, "0100000000000000000000000000000000000000000000000000000000000000"),
		"small order, 8":    ofHex(t, "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
		"no point":          ofHex(t, "0200000000000000000000000000000000000000000000000000000000000000"),
		"RSA, PEM":          string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: rsaDER})),
		"RSA, OpenSSH":      string(ssh.MarshalAuthorizedKey(rsaLine)),
		"truncated":         standard(public[:31]),
		"a truncated line":  line[:len(line)-8],
		"two lines":         line + "\n" + line,
		"a line of options": `command="x" ` + line,
		"nothing":           "",
	} {
		got := ada.do("POST", "/keys", map[string]string{"name": "x", "publicKey": text})
		require.Equal(t, 422, got.status, what)
		got.names("publicKey")
	}
	require.Empty(t, ada.do("GET", "/keys", nil).is(200).json["keys"])
	ada.do("POST", "/keys", map[string]string{"name": "x", "publicKey": line}).is(201)
}

func ofHex(t *testing.T, text string) string {
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(b)
}

func (f *securityArena) aPrivateKeyPasted(t *testing.T) {
	ada := f.member(t)
	_, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	openSSH, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	var secret []string
	for _, text := range []string{
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), string(pem.EncodeToMemory(openSSH)),
		base64.StdEncoding.EncodeToString(private),
	} {
		got := ada.do("POST", "/keys", map[string]string{"name": "x", "publicKey": text}).is(422, "invalid").names("publicKey")
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) > 40 && !strings.HasPrefix(line, "-") {
				secret = append(secret, line)
				require.NotContains(t, string(got.body), line)
			}
		}
	}
	require.GreaterOrEqual(t, len(secret), 3)
	stored, logged := f.events(t), f.arena.err.String()+f.arena.out.String()
	for _, line := range secret {
		require.NotContains(t, stored, line)
		require.NotContains(t, logged, line)
	}
}

func (f *securityArena) noScopeThatItLacks(t *testing.T) {
	key := f.member(t).newKey("keys.write")
	for _, scope := range everyScope() {
		public, _, err := ed25519.GenerateKey(nil)
		require.NoError(t, err)
		status := 403
		if scope == "keys.write" {
			status = 201
		}
		key.do("POST", "/keys", map[string]any{"name": "more", "publicKey": public, "scopes": []string{"keys.write", scope}}).is(status)
	}
	public, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	key.do("POST", "/keys", map[string]any{"name": "the default scopes", "publicKey": public}).is(403, "scope_exceeded")
}

// TestAccess of adapters/api checks every scope against every endpoint.
func (f *securityArena) aKeyWithoutTheScope(t *testing.T) {
	ada := f.member(t)
	blind, seeing := ada.newKey("bots.write", "keys.write", "account.write"), ada.newKey("bots.read", "keys.read", "account.read")
	for _, path := range []string{"/me", "/keys", "/bots", "/bots/none"} {
		blind.do("GET", path, nil).is(403, "scope_missing")
	}
	for _, call := range [][2]string{{"PATCH", "/me"}, {"POST", "/keys"}, {"POST", "/bots"}, {"PATCH", "/bots/none"}} {
		seeing.do(call[0], call[1], "{}").is(403, "scope_missing")
	}
	for _, path := range []string{"/keys/" + blind.keyID, "/bots/none"} {
		seeing.do("DELETE", path, nil).is(403, "scope_missing")
	}
	seeing.do("GET", "/me", nil).is(200)
}

func (f *securityArena) anothersThings(t *testing.T) {
	ada, eve := f.member(t), f.member(t)
	bot := newTestBot(t, "hers").url
	hers := ada.do("POST", "/bots", map[string]string{"name": "hers", "mode": "standard", "url": bot}).is(201).json["id"].(string)
	key := ada.newKey().keyID
	const nobodys = "0b1c8a3e-1111-4222-8333-444455556666"
	for _, c := range []struct{ method, path, id, body string }{
		{"GET", "/bots/", hers, ""}, {"PATCH", "/bots/", hers, `{"status":"paused"}`}, {"PATCH", "/bots/", hers, `{"x":1}`},
		{"DELETE", "/bots/", hers, ""}, {"DELETE", "/keys/", key, ""},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		require.Equal(t, eve.do(c.method, c.path+nobodys, body).is(404, "not_found").seen(), eve.do(c.method, c.path+c.id, body).seen(), c)
	}
	for _, id := range []string{hers, nobodys} {
		eve.do("POST", "/bots/"+id+"/check", nil).is(404, "not_found")
		eve.do("GET", "/bots/"+id+"/matches/none/decisions", nil).is(404, "not_found")
	}
	require.Equal(t, "active", ada.do("GET", "/bots/"+hers, nil).is(200).json["status"])
}

// An account may make only thirty writes a minute, so the arena rejects some of the
// fifty calls because of that limit.
func (f *securityArena) twentyKeys(t *testing.T) {
	ada := f.member(t)
	statuses := race(t, 50, func() (*reply, error) {
		public, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, err
		}
		return ada.try(t.Context(), "POST", "/keys", map[string]any{"name": "raced", "publicKey": public})
	})
	require.Equal(t, 20, statuses[201], statuses)
	require.Equal(t, 30, statuses[409]+statuses[429], statuses)
	require.Len(t, ada.do("GET", "/keys", nil).is(200).json["keys"], 20)
}

// An account may register only ten bots a minute. Unpausing a bot also makes it
// active.
func (f *securityArena) fiveActiveBots(t *testing.T) {
	ada := f.member(t)
	bot := newTestBot(t, "bot").url
	register := func() (*reply, error) {
		return ada.try(t.Context(), "POST", "/bots", map[string]string{"name": "raced", "mode": "standard", "url": bot})
	}
	statuses := race(t, 50, register)
	require.Equal(t, 5, statuses[201], statuses)
	require.Equal(t, 45, statuses[409]+statuses[429], statuses)
	require.Len(t, ada.do("GET", "/bots", nil).is(200).json["bots"], 5)

	eve := f.member(t)
	var bots []string
	for i := range 8 {
		bots = append(bots, eve.do("POST", "/bots", map[string]string{"name": "raced", "mode": "standard", "url": bot}).is(201).json["id"].(string))
		if i < 5 {
			eve.do("PATCH", "/bots/"+bots[i], `{"status":"paused"}`).is(200)
		}
	}
	var next atomic.Int32
	statuses = race(t, 15, func() (*reply, error) {
		return eve.try(t.Context(), "PATCH", "/bots/"+bots[next.Add(1)%5], `{"status":"active"}`)
	})
	t.Logf("15 calls that unpause five bots beside three active ones: %v", statuses)
	require.Equal(t, 15, statuses[200]+statuses[409], statuses)
	require.Equal(t, 5, strings.Count(string(eve.do("GET", "/bots", nil).is(200).body), `"status":"active"`))
}

// mostBefore is the maximum number of calls in a flood that may succeed before the
// credential is revoked. The caller may make 600 calls a minute, so the call that
// revokes the credential still fits within the limit.
const mostBefore = 300

// flood makes calls as fast as it can, while the function end() invalidates the
// caller's credential. It returns two numbers of successful calls: those that began
// before end() returned, and those that began later.
func flood(t *testing.T, who *caller, end func()) (before, after int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var ended atomic.Bool
	var in, late, refused atomic.Int64
	var flooding sync.WaitGroup
	flowing, refusing, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var flows, refuses sync.Once
	for range 6 {
		flooding.Go(func() {
			for ctx.Err() == nil {
				if in.Load() >= mostBefore {
					select {
					case <-over:
					case <-ctx.Done():
					}
				}
				over := ended.Load()
				r, err := who.try(ctx, "GET", "/me", nil)
				switch {
				case ctx.Err() != nil:
				case err != nil:
					t.Error(err)
					return
				case r.status == 200 && over:
					late.Add(1)
				case r.status == 200:
					if in.Add(1) == 50 {
						flows.Do(func() { close(flowing) })
					}
				case over && refused.Add(1) == 50:
					refuses.Do(func() { close(refusing) })
				}
			}
		})
	}
	<-flowing
	end()
	ended.Store(true)
	close(over)
	<-refusing
	cancel()
	flooding.Wait()
	return in.Load(), late.Load()
}

func (f *securityArena) aRevocationInAFlood(t *testing.T) {
	ada := f.member(t)
	key := ada.newKey("account.read")
	before, after := flood(t, key, func() { ada.do("DELETE", "/keys/"+key.keyID, nil).is(204) })
	t.Logf("%d calls succeeded before the response to the revocation, %d after it", before, after)
	require.Zero(t, after)
}

func (f *securityArena) aSignOutInAFlood(t *testing.T) {
	ada := f.member(t)
	before, after := flood(t, ada, func() { ada.elsewhere(ada.at).do("POST", "/sign-out", nil).is(204) })
	t.Logf("%d calls succeeded before the response to the sign-out, %d after it", before, after)
	require.Zero(t, after)
}

// Calls with wrong signatures count against the rate limit of the caller's address,
// never against the limit of the key's owner.
func (f *securityArena) underAnothersKeyID(t *testing.T) {
	ada := f.member(t)
	key := ada.newKey(everyScope()...)
	_, another, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	eve := key.elsewhere(key.at)
	eve.key = another
	for range 30 {
		eve.do("PATCH", "/me", "{}").is(401, "unauthenticated")
	}
	eve.do("PATCH", "/me", "{}").is(429, "rate_limited")
	eve.do("POST", "/sign-in", `{"email":"eve@example.org"}`).is(429, "rate_limited")
	for range 20 {
		key.do("PATCH", "/me", "{}").is(200)
	}
}
