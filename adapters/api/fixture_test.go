package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/adapters/api/apitest"
	"hexarena/adapters/auth"
	remote "hexarena/adapters/client"
	arenamail "hexarena/adapters/mail"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/accounts"
	"hexarena/projections/directory"
	"hexarena/projections/live"
)

// arena is a server on an in-memory log, wired like the real one in cmd. The test
// controls its clock and its deploy check.
type arena struct {
	t        *testing.T
	log      *faultyLog
	server   *api.Server
	url      string
	mails    string
	platform ed25519.PublicKey
	read     *readSide
	live     *live.Hub
	boards   *followed // the log that the live boards read

	mu     sync.Mutex
	now    time.Time
	keys   map[string]directory.Key
	urls   map[string]error       // errors of Allowed, by URL
	checks map[string][]rest.Step // by URL; other URLs pass
	tried  []string               // URLs checked
	named  []string               // ids of the bots checked
	during func(url string)       // called in the middle of a deploy check
	waited []eventstore.Position
	signed int // number of calls signed
}

// faultyLog is a log that a test can make unavailable, either for all writes or for
// reads of a stream.
type faultyLog struct {
	*memory.Log
	mu     sync.Mutex
	away   bool
	unread bool
}

func (l *faultyLog) setAway(away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = away
}

func (l *faultyLog) Append(ctx context.Context, id eventstore.StreamID, e eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	l.mu.Lock()
	away := l.away
	l.mu.Unlock()
	if away {
		return eventstore.Appended{}, eventstore.ErrUnavailable
	}
	return l.Log.Append(ctx, id, e, events...)
}

func (l *faultyLog) setUnread(unread bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unread = unread
}

func (l *faultyLog) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	l.mu.Lock()
	away := l.unread
	l.mu.Unlock()
	if away {
		return func(yield func(eventstore.Recorded, error) bool) {
			yield(eventstore.Recorded{}, eventstore.ErrUnavailable)
		}
	}
	return l.Log.Read(ctx, id, from, o)
}

func newArena(t *testing.T, edit ...func(*api.Options)) *arena {
	t.Helper()
	a := &arena{
		t: t, log: &faultyLog{Log: memory.New()}, mails: t.TempDir(), now: time.Date(2026, 9, 6, 12, 0, 0, 123456789, time.UTC),
		keys: map[string]directory.Key{}, urls: map[string]error{}, checks: map[string][]rest.Step{},
		platform: ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey),
	}
	a.read = newReadSide(t, a.log)
	newBoards(a)
	clock := func() time.Time { a.mu.Lock(); defer a.mu.Unlock(); return a.now }
	mailer, err := arenamail.Open("file:"+a.mails, "arena@arena.example", clock)
	require.NoError(t, err)
	const base = "https://arena.example"
	shared := accounts.New(a.log)
	service, err := auth.New(auth.Options{Log: a.log, Accounts: shared, Directory: a, Mailer: mailer, EmailKey: make([]byte, 32), BaseURL: base, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	options := api.Options{
		Log: a.log, Accounts: shared, Auth: service, ParsePublicKey: auth.ParsePublicKey, Checker: a, Directory: a,
		Matches: a.read.list, Leaderboard: a.read, Live: a.live, PlatformKey: a.platform, BaseURL: base, Now: clock,
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, e := range edit {
		e(&options)
	}
	a.server, err = api.New(options)
	require.NoError(t, err)
	httpServer := httptest.NewUnstartedServer(a.server)
	httpServer.Config.ConnContext = api.ConnContext
	httpServer.Start()
	t.Cleanup(httpServer.Close)
	a.url = httpServer.URL
	return a
}

func (a *arena) pass(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = a.now.Add(d)
}

// Key implements auth.Directory. It finds the keys in the events that Wait has folded.
func (a *arena) Key(id string) (directory.Key, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, found := a.keys[id]
	return k, found, nil
}

// Registrations implements auth.Directory.
func (a *arena) Registrations(ctx context.Context, public []byte) (list []directory.Key, err error) {
	if err := a.fold(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.keys {
		if bytes.Equal(k.PublicKey, public) && !k.Revoked {
			list = append(list, k)
		}
	}
	return list, nil
}

// Wait implements api.Directory. It folds the log.
func (a *arena) Wait(ctx context.Context, p eventstore.Position) error {
	a.mu.Lock()
	a.waited = append(a.waited, p)
	a.mu.Unlock()
	return a.fold(ctx)
}

func (a *arena) fold(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for r, err := range a.log.ReadAll(ctx, 0, eventstore.ReadOptions{}) {
		if err != nil {
			return err
		}
		ownerID, ok := owner.ParseAccountStream(string(r.Stream))
		if !ok {
			continue
		}
		e, err := owner.Decode(r.Type, r.Data)
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case owner.APIKeyRegistered:
			a.keys[e.KeyID] = directory.Key{ID: e.KeyID, OwnerID: ownerID, PublicKey: e.PublicKey}
		case owner.APIKeyRevoked:
			if k, ok := a.keys[e.KeyID]; ok {
				k.Revoked = true
				a.keys[e.KeyID] = k
			}
		}
	}
	return nil
}

func (a *arena) Allowed(_ context.Context, rawURL string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.urls[rawURL]
}

func (a *arena) Check(_ context.Context, botID, rawURL string) iter.Seq[rest.Step] {
	a.mu.Lock()
	a.tried, a.named = append(a.tried, rawURL), append(a.named, botID)
	steps, during := a.checks[rawURL], a.during
	a.mu.Unlock()
	if during != nil {
		during(rawURL)
	}
	if steps == nil {
		steps = []rest.Step{{Name: "ping", OK: true, Detail: "pong", ElapsedMs: 3}, {Name: "upgrade", OK: true, ElapsedMs: 1}}
	}
	return slices.Values(steps)
}

// client makes calls. It signs them if it has a key, and sends its cookie if it
// has one.
type client struct {
	*arena
	keyID  string
	key    ed25519.PrivateKey
	cookie *http.Cookie
}

func (a *arena) anyone() *client { return &client{arena: a} }

// answer is a response and its body.
type answer struct {
	status int
	header http.Header
	body   []byte
	json   map[string]any // nil if the body is not an object
	t      *testing.T
}

// The method do() makes a call. body may be nil, a string or a value that encodes as
// JSON. edit may change the request before it is signed.
func (c *client) do(method, target string, body any, edit ...func(*http.Request)) *answer {
	c.t.Helper()
	content := contentOf(c.t, body)
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+target, bytes.NewReader(content))
	require.NoError(c.t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.cookie != nil {
		r.AddCookie(c.cookie)
	}
	for _, e := range edit {
		e(r)
	}
	if c.key != nil {
		c.mu.Lock()
		c.signed++ // gives each call its own timestamp, because each signature is valid for only one write
		now := c.now.Add(time.Duration(c.signed) * time.Millisecond)
		c.mu.Unlock()
		remote.Key{ID: c.keyID, Private: c.key}.Sign(r.Header, now, method, target, content)
	}
	httpClient := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := httpClient.Do(r)
	require.NoError(c.t, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	a := &answer{status: response.StatusCode, header: response.Header, body: read, t: c.t}
	_ = json.Unmarshal(read, &a.json)
	if err := contractOf(c.t, c.server).Judge(r.Method, r.URL.RequestURI(), apitest.Answer{Status: a.status, Header: a.header, Body: a.body}); err != nil {
		c.t.Errorf("%s %s: %v\n%.500s", method, target, err, read)
	}
	return a
}

func contentOf(t *testing.T, body any) []byte {
	t.Helper()
	switch body := body.(type) {
	case nil:
		return nil
	case string:
		return []byte(body)
	default:
		content, err := json.Marshal(body)
		require.NoError(t, err)
		return content
	}
}

// a.is checks that the response has the given status. If a code is given, the response
// must be a problem with that code.
func (a *answer) is(status int, code ...string) *answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, string(a.body))
	if len(code) > 0 {
		require.Equal(a.t, "application/problem+json", a.header.Get("Content-Type"))
		require.Equal(a.t, code[0], a.json["code"], string(a.body))
		require.Equal(a.t, float64(status), a.json["status"])
		require.NotEmpty(a.t, a.json["title"])
		require.NotEmpty(a.t, a.json["detail"])
		require.Equal(a.t, a.header.Get("X-Request-Id"), a.json["requestId"])
	}
	return a
}

// The method names() checks that a refusal lists exactly the given fields as invalid.
func (a *answer) names(fields ...string) *answer {
	a.t.Helper()
	var named []string
	errs, _ := a.json["errors"].([]any)
	for _, e := range errs {
		named = append(named, e.(map[string]any)["field"].(string))
		require.NotEmpty(a.t, e.(map[string]any)["message"])
	}
	require.Equal(a.t, fields, named, string(a.body))
	return a
}

func (a *answer) cookies() []*http.Cookie { return (&http.Response{Header: a.header}).Cookies() }

var linkLine = regexp.MustCompile(`(?m)^(https://\S+)\r?$`)

// lastLink returns the link in the newest email, and the email's recipient.
func (a *arena) lastLink() (link *url.URL, to string) {
	a.t.Helper()
	names, err := filepath.Glob(filepath.Join(a.mails, "*.eml"))
	require.NoError(a.t, err)
	require.NotEmpty(a.t, names)
	raw, err := os.ReadFile(names[len(names)-1])
	require.NoError(a.t, err)
	message, err := mail.ReadMessage(bytes.NewReader(raw))
	require.NoError(a.t, err)
	text, err := io.ReadAll(message.Body)
	require.NoError(a.t, err)
	link, err = url.Parse(linkLine.FindStringSubmatch(string(text))[1])
	require.NoError(a.t, err)
	return link, strings.Trim(message.Header.Get("To"), "<>")
}

// signIn signs in with the link from an email.
func (a *arena) signIn(address string) *client {
	a.t.Helper()
	a.pass(time.Millisecond) // the file names of emails contain the time and must differ
	anyone := a.anyone()
	anyone.do(http.MethodPost, "/sign-in", map[string]any{"email": address}).is(http.StatusAccepted)
	link, _ := a.lastLink()
	confirmed := anyone.do(http.MethodPost, "/sign-in/confirm", map[string]any{"token": link.Query().Get("token")}).is(http.StatusOK)
	require.Len(a.t, confirmed.cookies(), 1)
	return &client{arena: a, cookie: confirmed.cookies()[0]}
}

// newKey registers a key with scopes, or with the default scopes if none are given, and
// returns a client that signs with the key.
func (c *client) newKey(scopes ...owner.Scope) *client {
	c.t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(c.t, err)
	body := map[string]any{"name": "test", "publicKey": public}
	if scopes != nil {
		body["scopes"] = scopes
	}
	registered := c.do(http.MethodPost, "/keys", body).is(http.StatusCreated)
	return &client{arena: c.arena, keyID: registered.json["id"].(string), key: private}
}

// newBot registers a bot and returns its id.
func (c *client) newBot(name, mode string) string {
	c.t.Helper()
	return c.do(http.MethodPost, "/bots", map[string]any{"name": name, "mode": mode, "url": "https://bots.example/" + name}).
		is(http.StatusCreated).json["id"].(string)
}

var errPrivate = errors.New("must be a public address")
