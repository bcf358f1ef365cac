package auth

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/directory"
)

var noon = time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC)

func now(after time.Duration) eventstore.Metadata {
	return eventstore.Metadata{At: noon.Add(after), Correlation: "test"}
}

// program is a request from a program, not from a browser.
var program = httptest.NewRequest(http.MethodPost, "/sign-in/confirm", nil)

// fixture is a Service on an in-memory log. It is also the Service's fake Mailer and
// fake Directory.
type fixture struct {
	*Service
	log  *memory.Log
	mu   sync.Mutex
	sent []sentLink
	keys map[string]directory.Key
	lack error // why the directory may lack keys
}

type sentLink struct{ to, link string }

func (f *fixture) SendSignInLink(_ context.Context, to, link string, _ time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, sentLink{to, link})
	return nil
}

func (f *fixture) Key(id string) (directory.Key, bool, error) {
	k, found := f.keys[id]
	return k, found, f.lack
}

// Registrations reads the log first, like the real directory.
func (f *fixture) Registrations(ctx context.Context, public []byte) ([]directory.Key, error) {
	d := map[string]directory.Key{}
	for r, err := range f.log.ReadAll(ctx, 0, eventstore.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		ownerID, ok := owner.ParseAccountStream(string(r.Stream))
		if !ok {
			continue
		}
		e, err := owner.Decode(r.Type, r.Data)
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case owner.APIKeyRegistered:
			if bytes.Equal(e.PublicKey, public) {
				d[e.KeyID] = directory.Key{ID: e.KeyID, OwnerID: ownerID, PublicKey: e.PublicKey}
			}
		case owner.APIKeyRevoked:
			delete(d, e.KeyID)
		}
	}
	return slices.Collect(maps.Values(d)), nil
}

func newFixture(t *testing.T) *fixture { return fixtureOn(t, memory.New(), false) }

func fixtureOn(t *testing.T, log *memory.Log, secure bool) *fixture {
	t.Helper()
	f := &fixture{log: log, keys: map[string]directory.Key{}}
	var err error
	f.Service, err = New(Options{
		Log: log, Accounts: plainAccounts{log}, Directory: f, Mailer: f, Secure: secure,
		EmailKey: bytes.Repeat([]byte{3}, 32), BaseURL: "https://arena.example",
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	for _, links := range []*tally{f.links.requesters, f.links.addresses} {
		keys := map[string]uint64{}
		links.hash = func(key string) uint64 { // no two keys share a bucket
			if _, known := keys[key]; !known {
				keys[key] = uint64(len(keys))
			}
			return keys[key]
		}
	}
	return f
}

// link sends a link to an address and returns the link's token.
func (f *fixture) link(t *testing.T, address string, after time.Duration) string {
	t.Helper()
	before := len(f.sent)
	require.NoError(t, f.ask(t, address, "network", after))
	require.Len(t, f.sent, before+1)
	u, err := url.Parse(f.sent[before].link)
	require.NoError(t, err)
	return u.Query().Get("token")
}

// ask requests a link from a network, sending the given cookies.
func (f *fixture) ask(t *testing.T, address, network string, after time.Duration, cookies ...*http.Cookie) error {
	r := httptest.NewRequest(http.MethodPost, "/sign-in", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return f.SendLink(t.Context(), r, network, address, now(after))
}

func (f *fixture) signIn(t *testing.T, address string, after time.Duration) (owner.Account, *http.Cookie) {
	t.Helper()
	account, cookies, err := f.Confirm(t.Context(), program, f.link(t, address, after), now(after))
	require.NoError(t, err)
	return account, cookies[0]
}

// addKey registers a key for an account in the log and in the directory.
func (f *fixture) addKey(t *testing.T, ownerID, keyID string, scopes ...owner.Scope) ed25519.PrivateKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	f.store(t, ownerID, owner.APIKeyRegistered{KeyID: keyID, PublicKey: public, Scopes: scopes})
	f.keys[keyID] = directory.Key{ID: keyID, OwnerID: ownerID, PublicKey: public}
	return private
}

func (f *fixture) store(t *testing.T, ownerID string, events ...owner.Event) {
	t.Helper()
	_, _, err := accounts.Handle(t.Context(), f.log, eventstore.StreamID(owner.AccountStream(ownerID)), owner.Account{}, now(0),
		func(owner.Account) ([]owner.Event, error) { return events, nil })
	require.NoError(t, err)
}

// logText returns the whole log as text.
func (f *fixture) logText(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for r, err := range f.log.ReadAll(t.Context(), 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		b.WriteString(string(r.Stream) + " " + r.Type + " " + string(r.Data) + " " + string(r.Metadata) + "\n")
	}
	return b.String()
}

func TestNewRefusesAShortKey(t *testing.T) {
	_, err := New(Options{EmailKey: make([]byte, 31)})
	require.Error(t, err)
}
