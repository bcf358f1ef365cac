package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api/apitest"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
)

// The tests TestSecurity… check those rows of docs/security.md that need a process.
// Each test starts `arena serve` and calls it over sockets. The arena sends its
// emails to a mail server in the test. Each caller has its own address, because
// limits apply per address.

// securityArena is an arena whose callers have different addresses and accounts.
type securityArena struct {
	*testArena
	t     *testing.T
	mails *mailServer
}

// newSecurityArena starts an arena that sends its emails to a server in the test. The
// arena seats no bots during a test, unless the flags change that.
func newSecurityArena(t *testing.T, flags ...string) *securityArena {
	return newSecurityArenaIn(t, nil, flags...)
}

// newSecurityArenaIn starts an arena with additional environment variables.
func newSecurityArenaIn(t *testing.T, env []string, flags ...string) *securityArena {
	t.Helper()
	f := &securityArena{t: t, mails: newMailServer(t)}
	f.testArena = newTestArena(t, append([]string{"--mail", f.mails.setting, "--tick", "1h"}, flags...)...)
	f.testArena.env = env
	f.start()
	return f
}

// The method each() runs the rows of a test in parallel, all with the same arena.
func (f *securityArena) each(t *testing.T, rows map[string]func(*testing.T)) {
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row(t)
		})
	}
}

// These methods return the addresses that the running arena listens on. The base URL
// may differ. A restart changes the ports, so tests must call these methods again
// after each restart.
func (f *securityArena) address() string { return f.arena.address() }
func (f *securityArena) admin() string   { return f.arena.admin() }
func (f *securityArena) node() string    { return f.arena.await(`event store on esdb://(\S+)\?`)[1] }

// address returns the address of a process's API.
func (p *process) address() string { return p.await(`API on http://(\S+)\n`)[1] }

// admin returns the address of a process's operators' endpoints.
func (p *process) admin() string { return p.await(`operators' endpoints on http://(\S+)\n`)[1] }

// The method events() returns all events of the log as text.
func (f *securityArena) events(t *testing.T) string {
	t.Helper()
	log, err := esdb.Open(fmt.Sprintf("esdb://%s?tls=false", f.node()), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer log.Close()
	var text strings.Builder
	for r, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		fmt.Fprintf(&text, "%s %s %s %s\n", r.Stream, r.Type, r.Data, r.Metadata)
	}
	return text.String()
}

// caller calls an arena from its own address. It signs calls if it has a key, and
// sends its session cookie if it has one.
type caller struct {
	t      *testing.T
	at     string // the arena's address
	client *http.Client
	cookie *http.Cookie
	keyID  string
	key    ed25519.PrivateKey
}

var callers atomic.Uint32

// The method anonymous() returns a caller without credentials.
func (f *securityArena) anonymous(t *testing.T) *caller { return anonymousAt(t, f.address()) }

func anonymousAt(t *testing.T, at string) *caller {
	n := callers.Add(1)
	from := net.IPv4(127, 77, byte(n>>8), byte(n))
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, network, _ string) (net.Conn, error) { return d.DialContext(ctx, network, at) },
		DisableCompression: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &caller{t: t, at: at, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// The method elsewhere() returns a caller with the same credentials, but with another
// address of its own. The parameter at is the address of the arena that the new caller
// calls.
func (c *caller) elsewhere(at string) *caller {
	o := anonymousAt(c.t, at)
	o.cookie, o.keyID, o.key = c.cookie, c.keyID, c.key
	return o
}

// The method member() signs up a new owner, with the link from the email.
func (f *securityArena) member(t *testing.T) *caller {
	t.Helper()
	c := f.anonymous(t)
	c.signIn(f.mails, fmt.Sprintf("member-%d@example.org", callers.Add(1)))
	return c
}

// signIn starts a session for the owner of an address.
func (c *caller) signIn(mails *mailServer, address string) *reply {
	c.t.Helper()
	c.cookie = nil
	confirmed := c.do("POST", "/sign-in/confirm", map[string]string{"token": c.token(mails, address)}).is(200)
	require.Len(c.t, confirmed.cookies(), 1)
	c.cookie = confirmed.cookies()[0]
	return confirmed
}

// The method token() requests a sign-in link and returns the token in the email.
func (c *caller) token(mails *mailServer, address string) string {
	c.t.Helper()
	before := len(mails.to(address))
	c.do("POST", "/sign-in", map[string]string{"email": address}).is(202)
	return mails.await(c.t, address, before+1).link(c.t).Query().Get("token")
}

// newKey registers a key with the given scopes, or with the default scopes if none
// are given.
func (c *caller) newKey(scopes ...string) *caller {
	c.t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(c.t, err)
	body := map[string]any{"name": "test", "publicKey": base64.StdEncoding.EncodeToString(public)}
	if scopes != nil {
		body["scopes"] = scopes
	}
	k := c.elsewhere(c.at)
	k.cookie, k.key = nil, private
	k.keyID = c.do("POST", "/keys", body).is(201).json["id"].(string)
	return k
}

func everyScope() []string {
	return []string{"bots.read", "bots.write", "keys.read", "keys.write", "account.read", "account.write"}
}

// reply is a response with its body. Unless the response is a web page, it matches
// the arena's own OpenAPI description.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
	json   map[string]any // nil if the body is not an object
}

// The method do() makes a call. The body may be nil, a string, or a value to encode as
// JSON. The call is signed before the functions in edit change it.
func (c *caller) do(method, target string, body any, edit ...func(*http.Request)) *reply {
	c.t.Helper()
	r, err := c.try(c.t.Context(), method, target, body, edit...)
	require.NoError(c.t, err)
	return r
}

// The method try() is like do(), but for goroutines other than the test's.
func (c *caller) try(ctx context.Context, method, target string, body any, edit ...func(*http.Request)) (*reply, error) {
	req, err := c.request(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	for _, e := range edit {
		e(req)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a := &reply{t: c.t, status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		return nil, err
	}
	_ = json.Unmarshal(a.body, &a.json)
	if kind := a.header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") || strings.HasPrefix(kind, "image/") {
		return a, nil // a page or its image, which the description does not contain
	}
	// With c.client, this call would count toward the limits of its address.
	contract, err := contractOf(ctx, http.DefaultClient, "http://"+c.at)
	if err != nil {
		return nil, err
	}
	if err := contract.Judge(strings.ToUpper(req.Method), target, apitest.Answer{Status: a.status, Header: a.header, Body: a.body}); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%.500s", method, target, err, a.body)
	}
	return a, nil
}

// request returns a call that is signed as the specification requires. The target
// is sent unchanged.
func (c *caller) request(ctx context.Context, method, target string, body any) (*http.Request, error) {
	raw, err := rawBody(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.at, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	req.URL = &url.URL{Scheme: "http", Host: c.at, Opaque: target}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.cookie != nil {
		req.AddCookie(c.cookie)
	}
	if c.key != nil {
		c.sign(req.Header, fresh(), method, target, raw)
	}
	return req, nil
}

func rawBody(body any) ([]byte, error) {
	switch body := body.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(body), nil
	default:
		return json.Marshal(body)
	}
}

// sign sets the three headers of a signed call.
func (c *caller) sign(h http.Header, timestamp, method, target string, body []byte) {
	message := fmt.Sprintf("%s.%s.%s.%s", timestamp, method, target, body)
	h.Set("X-Arena-Key", c.keyID)
	h.Set("X-Arena-Timestamp", timestamp)
	h.Set("X-Arena-Signature", base64.StdEncoding.EncodeToString(ed25519.Sign(c.key, []byte(message))))
}

// The method resigned() returns an edit that signs a call again, with the given
// timestamp, method, target and body.
func (c *caller) resigned(timestamp, method, target, body string) func(*http.Request) {
	return func(r *http.Request) { c.sign(r.Header, timestamp, method, target, []byte(body)) }
}

var lastStamp atomic.Int64

// The function fresh() returns a timestamp that no call has used yet: the current time,
// or a little later.
func fresh() string {
	for {
		last := lastStamp.Load()
		next := max(time.Now().UnixMilli(), last+1)
		if lastStamp.CompareAndSwap(last, next) {
			return strconv.FormatInt(next, 10)
		}
	}
}

func stampIn(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).UnixMilli(), 10) }

var description struct {
	sync.Mutex
	*apitest.Contract
}

// contractOf returns the OpenAPI description that responses must match. It reads the
// description only from the first arena, because all arenas run the same program.
// Only the tests of adapters/api check very long responses.
func contractOf(ctx context.Context, client *http.Client, base string) (*apitest.Contract, error) {
	description.Lock()
	defer description.Unlock()
	if description.Contract != nil {
		return description.Contract, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/openapi.json", nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	document, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	c, err := apitest.New(document)
	if err != nil {
		return nil, err
	}
	c.Longest = 128 << 10
	description.Contract = c
	return c, nil
}

// r.is requires a status and, for a rejected call, an error code.
func (r *reply) is(status int, code ...string) *reply {
	r.t.Helper()
	require.Equal(r.t, status, r.status, "%s", r.body)
	if len(code) > 0 {
		require.Equal(r.t, code[0], r.json["code"], "%s", r.body)
	}
	return r
}

// The method names() requires that the response to a rejected call lists a field as
// invalid.
func (r *reply) names(field string) *reply {
	r.t.Helper()
	require.Contains(r.t, string(r.body), `"field":"`+field+`"`)
	return r
}

func (r *reply) cookies() []*http.Cookie { return (&http.Response{Header: r.header}).Cookies() }

// The method seen() returns the response as a string, without the parts that differ
// between calls.
func (r *reply) seen() string {
	h := r.header.Clone()
	for _, each := range []string{"X-Request-Id", "Date", "Ratelimit"} {
		h.Del(each)
	}
	delete(r.json, "requestId")
	var text strings.Builder
	_ = h.Write(&text) // a write to memory cannot fail
	return fmt.Sprint(r.status, "\n", text.String(), "\n", r.json)
}
