// Package api is the arena's REST interface. It routes calls, identifies their callers,
// and responds.
//
// The file routes.go lists the endpoints. Each endpoint has a handler in the file of
// its topic. Package rest declares the types of requests and responses. Package binding
// parses requests, problem maps errors to responses, ratelimit counts calls, and
// describe builds the OpenAPI document. If several errors apply to a call, "Order of
// errors" in docs/protocol.md decides which one the caller gets.
//
// The package knows nothing about signatures, cookies, mail, sockets or storage.
// It uses them through the interfaces in Options.
package api

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"

	"hexarena/adapters/api/describe"
	"hexarena/adapters/api/ratelimit"
	"hexarena/adapters/rest"
	"hexarena/domain/beacon"
	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Authenticator identifies callers. In each of its methods, m.At is the current time.
// Callers of the API see two errors that only an Authenticator returns:
// owner.ErrUnauthenticated and owner.ErrLinkInvalid.
type Authenticator interface {
	// Verify returns the caller who sent the request with this body.
	Verify(ctx context.Context, r *http.Request, body []byte, m eventstore.Metadata) (owner.Caller, error)
	// SendLink emails a sign-in link to an address. r is the request that asked for the
	// link, and network identifies the network from which r came. The result does not
	// depend on whether an account uses the address.
	SendLink(ctx context.Context, r *http.Request, network, address string, m eventstore.Metadata) error
	// Confirm exchanges a link's token for a session. r is the request. The first
	// returned cookie is the session cookie.
	Confirm(ctx context.Context, r *http.Request, token string, m eventstore.Metadata) (owner.Account, []*http.Cookie, error)
	// SignOut ends a caller's session.
	SignOut(ctx context.Context, c owner.Caller, m eventstore.Metadata) (*http.Cookie, error)
	// Delete deletes a caller's account, and releases the account's address and handle.
	Delete(ctx context.Context, c owner.Caller, m eventstore.Metadata) ([]*http.Cookie, eventstore.Position, error)
	// RegisterKey registers a key for a caller. It takes a key from another account
	// only if the caller proves that it has the private key.
	RegisterKey(ctx context.Context, c owner.Caller, k owner.NewKey, proof string, m eventstore.Metadata) (owner.Key, eventstore.Position, error)
}

// Checker checks bot URLs.
type Checker interface {
	// Allowed returns an error if the arena may not connect to the URL. The error
	// message is for the owner. Allowed does not open a connection, but it may resolve
	// the URL's host.
	Allowed(ctx context.Context, url string) error
	// Check runs the deploy check of a bot. It yields each step when the step ends, and
	// stops after the first step that fails.
	Check(ctx context.Context, botID, url string) iter.Seq[rest.Step]
}

// Directory is the projection that finds accounts by their keys, handles and
// bots.
type Directory interface {
	// Wait returns once the directory has folded the log up to a position.
	Wait(ctx context.Context, p eventstore.Position) error
}

// Options configure a Server. These fields are optional: Outage, Health, Events, Beacon,
// SeedKey, SecurityContact, Limits and TrustedProxies. SignedLog is optional too, but needs
// SignHead, Checkpoint, Cosigned and LadderKey.
type Options struct {
	Log            eventstore.Log
	Outage         func() time.Duration // how long the log has been unavailable; nil means never
	Accounts       Accounts
	Auth           Authenticator
	ParsePublicKey func(text string) (ed25519.PublicKey, error)
	Checker        Checker
	Directory      Directory
	Matches        Matches
	Leaderboard    Leaderboard
	Live           Live
	Queue          Queue
	Health         Health    // nil if the arena does not know the health of bots
	Events         Events    // if nil, GET /me/events is refused with 503
	SignedLog      SignedLog // nil if the arena has no signed log
	SignHead       func(mode string, size uint64, root []byte) ([]byte, error)
	Checkpoint     func(mode string) (size uint64, signed []byte, err error) // the newest signed head of a mode's ladder tree
	// Cosigned returns the newest signed head of that tree with at least n
	// cosignatures.
	Cosigned        func(mode string, n int) (size uint64, signed []byte, found bool)
	LadderKey       func(mode string) (string, error) // the key that verifies the heads of that tree, in note format
	PlatformKey     ed25519.PublicKey
	Beacon          *beacon.Info                                        // nil if seeds do not use a beacon
	SeedKey         func(ctx context.Context, id string) ([]byte, bool) // if nil, the decision log does not show the requests of running matches
	BaseURL         string                                              // the arena's own address, as browsers use it
	SecurityContact string                                              // URI for vulnerability reports; if empty, an email address: security@ and the host of BaseURL
	Limits          ratelimit.Limits                                    // the zero value means no limits
	TrustedProxies  []netip.Prefix                                      // proxies whose X-Forwarded-For header the arena trusts
	Now             func() time.Time
	Logger          *slog.Logger
}

// Server serves the API. It is safe for concurrent use.
type Server struct {
	Options
	echo        *echo.Echo
	description *describe.Document
	crossSite   *http.CrossOriginProtection
	limiter     *ratelimit.Limiter
	turns       *semaphore.Weighted // turns of expensive calls
	computing   *semaphore.Weighted // the one computation of a win probability
	playouts    int                 // of a win probability, at each turn; maxPlayouts except in tests
	turnTime    time.Duration       // the constant, except in tests
	streams     *streams
	responses   *responseCache
	folded      folded
	documents   func() (map[string]*response, error) // builds them once
	rankings    rankings
}

// New returns a Server, or an error if the options are invalid.
func New(o Options) (*Server, error) {
	if o.Log == nil || o.Accounts == nil || o.Auth == nil || o.ParsePublicKey == nil || o.Checker == nil || o.Directory == nil ||
		o.Matches == nil || o.Leaderboard == nil || o.Live == nil || o.Now == nil || o.Logger == nil {
		return nil, errors.New("api: a required option is missing")
	}
	if len(o.PlatformKey) != ed25519.PublicKeySize {
		return nil, errors.New("api: the platform key must have 32 bytes")
	}
	s := &Server{
		Options: o, crossSite: http.NewCrossOriginProtection(), limiter: ratelimit.New(o.Limits, o.TrustedProxies, o.Now),
		turns: newTurns(), computing: semaphore.NewWeighted(1), playouts: maxPlayouts, turnTime: turnTime, streams: newStreams(), responses: newResponseCache(maxCached),
	}
	if err := s.trustOrigin(); err != nil {
		return nil, err
	}
	s.description = describe.New(o.BaseURL)
	s.echo = s.newRouter()
	s.registerEndpoints()
	s.documents = sync.OnceValues(s.makeDocuments)
	return s, nil
}

// ServeHTTP implements http.Handler. It handles a HEAD request like a GET request, but
// without a response body.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		r = r.Clone(context.WithValue(r.Context(), headKey{}, true))
		r.Method = http.MethodGet
	}
	s.echo.ServeHTTP(w, r)
}

// headKey is the context key that marks a HEAD request that is handled as GET.
type headKey struct{}

func isHead(ctx context.Context) bool {
	is, _ := ctx.Value(headKey{}).(bool)
	return is
}

// trustOrigin allows the arena's own web pages to call the API, even through a proxy
// that changes the Host header.
func (s *Server) trustOrigin() error {
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Host == "" {
		return fmt.Errorf("api: the base URL %q is not an absolute URL", s.BaseURL)
	}
	return s.crossSite.AddTrustedOrigin(u.Scheme + "://" + u.Host)
}
