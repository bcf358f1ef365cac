package api_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/api"
	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/auth"
	remote "hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/accounts"
	"hexarena/projections/arenatest"
	"hexarena/projections/directory"
	"hexarena/projections/leaderboard"
	"hexarena/projections/live"
	"hexarena/projections/matches"
)

// benchAccounts is the number of accounts that take turns making calls.
const benchAccounts = 5_000

// crowd is a server with many accounts, and a signed GET /me request for each account.
type crowd struct {
	server   *api.Server
	requests []*http.Request
	verify   []func() bool // functions that check only the signature of a request
}

// fixedDirectory is a directory whose log does not grow, so Wait returns immediately.
type fixedDirectory struct{ *directory.Directory }

func (fixedDirectory) Wait(context.Context, eventstore.Position) error { return nil }

func (d fixedDirectory) Key(id string) (directory.Key, bool, error) {
	k, found := d.Directory.Key(id)
	return k, found, nil
}

func (d fixedDirectory) Registrations(_ context.Context, public []byte) ([]directory.Key, error) {
	return d.KeysOf(public), nil
}

type nobody struct{}

func (nobody) SendSignInLink(context.Context, string, string, time.Time) error { return nil }
func (nobody) Allowed(context.Context, string) error                           { return nil }
func (nobody) Check(context.Context, string, string) iter.Seq[rest.Step] {
	return slices.Values[[]rest.Step](nil)
}
func (nobody) Rows(string) ([]leaderboard.Row, error)               { return nil, nil }
func (nobody) Games(string) int                                     { return 0 }
func (nobody) RowsAt(string, time.Time) ([]leaderboard.Row, error)  { return nil, nil }
func (nobody) History(string) (api.BotHistory, bool, error)         { return api.BotHistory{}, false, nil }
func (nobody) BySeat(string) ([]leaderboard.SeatTally, error)       { return nil, nil }
func (nobody) ByVersion(string) ([]leaderboard.VersionTally, error) { return nil, nil }
func (nobody) Results(string, int) []leaderboard.SeatTally          { return nil }
func (nobody) ByOpening(string) ([]leaderboard.OpeningTally, error) { return nil, nil }
func (nobody) ByLength(string) ([]leaderboard.LengthTally, error)   { return nil, nil }
func (nobody) Openings(string, int) []leaderboard.OpeningTally      { return nil }
func (nobody) Lengths(string, int) []leaderboard.LengthTally        { return nil }

func (nobody) Version() (uint64, error) { return 0, nil }

func newCrowd(b *testing.B) *crowd {
	b.Helper()
	log, dir := memory.New(), directory.New()
	kept := accounts.New(log)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); kept.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	service, err := auth.New(auth.Options{
		Log: log, Accounts: kept, Directory: fixedDirectory{dir}, Mailer: nobody{}, EmailKey: make([]byte, 32), BaseURL: "http://arena.example",
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	began := time.Now()
	c := &crowd{}
	c.server, err = api.New(api.Options{
		Log: log, Accounts: kept, Auth: service, ParsePublicKey: auth.ParsePublicKey, Checker: nobody{}, Directory: fixedDirectory{dir}, Matches: matches.New(),
		Leaderboard: nobody{}, Live: live.New(live.Options{}), PlatformKey: make([]byte, 32), BaseURL: "http://arena.example", Limits: ratelimit.Limits{All: 1 << 30, Writes: 30, MatchReads: 120, Registrations: 10},
		Now: func() time.Time { return began }, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	for i := range benchAccounts {
		c.enter(b, log, fmt.Sprintf("0b1c8a3e-5f0e-4c43-8a55-%012d", i), began)
	}
	require.NoError(b, arenatest.Follow(b, log, dir).Sync(ctx))
	for _, r := range c.requests {
		w := httptest.NewRecorder()
		c.server.ServeHTTP(w, r)
		require.Equal(b, http.StatusOK, w.Code, w.Body.String())
	}
	return c
}

// enter creates an account with bots and a key, and signs a request for the
// account.
func (c *crowd) enter(b *testing.B, log eventstore.Log, id string, now time.Time) {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(b, err)
	events := []owner.Event{
		owner.SignedUp{OwnerID: id}, owner.HandleChosen{Handle: "handle"},
		owner.APIKeyRegistered{KeyID: id, Name: "k", PublicKey: public, Scopes: owner.AllScopes()},
	}
	for i := range 3 {
		events = append(events, owner.BotRegistered{BotID: fmt.Sprint(id, i), Name: "bot", Mode: ladder.Standard, URL: "https://bots.example"})
	}
	for stream, list := range map[string][]owner.Event{
		owner.AccountStream(id): events, owner.AddressStream(id): {owner.AddressSet{Address: "someone@example.org"}},
	} {
		encoded, err := eventstore.EncodeAll(list, eventstore.Metadata{At: now})
		require.NoError(b, err)
		_, err = log.Append(context.Background(), eventstore.StreamID(stream), eventstore.NoStream, encoded...)
		require.NoError(b, err)
	}
	r := httptest.NewRequest(http.MethodGet, "/me", nil)
	remote.Key{ID: id, Private: private}.Sign(r.Header, now, http.MethodGet, "/me", nil)
	c.requests = append(c.requests, r)
	message := []byte(r.Header.Get("X-Arena-Timestamp") + ".GET./me.")
	signature := ed25519.Sign(private, message)
	c.verify = append(c.verify, func() bool { return ed25519.Verify(public, message, signature) })
}

// discard is a response writer that stores only the status.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkMe measures signed GET /me calls by many accounts. It has three parts: the
// signature check by itself, which takes most of the time; the whole call without a
// socket; and the whole call over a socket. Run it with -cpu 1.
func BenchmarkMe(b *testing.B) {
	c := newCrowd(b)
	perSecond := func(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s") }
	b.Run("ed25519 only", func(b *testing.B) {
		for i := range b.N {
			if !c.verify[i%len(c.verify)]() {
				b.Fatal("a signature does not verify")
			}
		}
		perSecond(b)
	})
	b.Run("no socket", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			d := &discard{header: http.Header{}}
			c.server.ServeHTTP(d, c.requests[i%len(c.requests)])
			if d.status != http.StatusOK {
				b.Fatal("status", d.status)
			}
		}
		perSecond(b)
	})
	b.Run("socket", func(b *testing.B) {
		s := httptest.NewServer(c.server)
		defer s.Close()
		base, err := url.Parse(s.URL)
		require.NoError(b, err)
		b.ResetTimer()
		for i := range b.N {
			r := c.requests[i%len(c.requests)].Clone(b.Context())
			r.RequestURI, r.URL.Scheme, r.URL.Host, r.Host = "", base.Scheme, base.Host, base.Host
			response, err := s.Client().Do(r)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				b.Fatal("status", response.StatusCode)
			}
		}
		perSecond(b)
	})
}
