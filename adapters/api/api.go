// Package api is the arena's REST interface: its routes, the shapes of its
// requests and answers, the order of its refusals, and the one table from
// errors to status codes. Each route is an endpoint (endpoint.go), registered
// by a register… method next to its handlers; huma documents what is
// registered, while requests are read here, more strictly than it does.
//
// It knows nothing of signatures, cookies, mail, sockets or storage: Options
// plugs in who does.
package api

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/accounts"
)

// Authenticator shows who calls. In each call m.At is now. It refuses with
// owner.ErrUnauthenticated and owner.ErrLinkInvalid.
type Authenticator interface {
	// Verify says who makes a request with this body.
	Verify(ctx context.Context, r *http.Request, body []byte, m eventstore.Metadata) (owner.Caller, error)
	// SendLink mails a sign-in link; it tells nothing of who has the address.
	SendLink(ctx context.Context, address string, m eventstore.Metadata) error
	// Confirm spends a link's token for a session.
	Confirm(ctx context.Context, token string, m eventstore.Metadata) (owner.Account, *http.Cookie, error)
	// SignOut ends a caller's session.
	SignOut(ctx context.Context, c owner.Caller, m eventstore.Metadata) (*http.Cookie, error)
	// Delete ends a caller's account for good; what it has claimed is given up.
	Delete(ctx context.Context, c owner.Caller, m eventstore.Metadata) (*http.Cookie, eventstore.Position, error)
}

// Checker judges and tries the URLs of bots.
type Checker interface {
	// Allowed says why a URL may not be dialled, in a sentence for its owner; it
	// dials nothing.
	Allowed(url string) error
	// Check runs the deploy check, up to the first step that fails.
	Check(ctx context.Context, url string) []Step
}

// Step is one step of a deploy check.
type Step struct {
	Name    string
	OK      bool
	Detail  string // a sentence for the owner
	Elapsed time.Duration
}

// Directory is the projection that finds accounts by what they own.
type Directory interface {
	// Wait returns once everything up to a position of the log is found.
	Wait(ctx context.Context, p eventstore.Position) error
}

// Options plug a Server together. Accounts, SeedKey, SignedLog, Limits, TrustedProxies,
// and Logger may be left out.
type Options struct {
	Log             eventstore.Log
	Accounts        Accounts // nil: read from Log at every request
	Auth            Authenticator
	ParsePublicKey  func(text string) (ed25519.PublicKey, error)
	Checker         Checker
	Directory       Directory
	Matches         Matches
	Leaderboard     Leaderboard
	Live            Live
	SignedLog       SignedLog // nil: there is none
	SignHead        func(mode string, size uint64, root []byte) ([]byte, error)
	PlatformKey     ed25519.PublicKey
	SeedKey         func(id string) ([]byte, bool) // nil: what a running match asked is not shown
	BaseURL         string                         // the arena's own address, as browsers see it
	SecurityContact string                         // URI for reports of vulnerabilities; empty: security@ the host of BaseURL
	Limits          Limits                         // the zero value: none
	TrustedProxies  []netip.Prefix                 // whose X-Forwarded-For is believed
	Now             func() time.Time
	Logger          *slog.Logger
}

// Server serves the API. It is safe for concurrent use.
type Server struct {
	Options
	echo      *echo.Echo
	api       huma.API
	crossSite *http.CrossOriginProtection
	limits    *limiter
	streams   *openStreams
	kept      *keeper
	extras    map[string]extra // by operation
	artifacts artifacts
	rankings  rankings
}

// New returns a Server, or what is wrong with its options.
func New(o Options) (*Server, error) {
	if o.Log == nil || o.Auth == nil || o.ParsePublicKey == nil || o.Checker == nil || o.Directory == nil ||
		o.Matches == nil || o.Leaderboard == nil || o.Live == nil || o.Now == nil {
		return nil, errors.New("api: an option is missing")
	}
	if len(o.PlatformKey) != ed25519.PublicKeySize {
		return nil, errors.New("api: the platform key must have 32 bytes")
	}
	if o.Accounts == nil {
		o.Accounts = accounts.New(o.Log)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{Options: o, crossSite: http.NewCrossOriginProtection(), limits: newLimiter(o), streams: newOpenStreams(o.Limits.Streams), kept: newKeeper(maxLasting)}
	if err := s.trustOrigin(); err != nil {
		return nil, err
	}
	var err error
	if s.extras, err = extras(); err != nil {
		return nil, fmt.Errorf("api: an example: %w", err)
	}
	s.echo = s.newRouter()
	s.api = humaecho.New(s.echo, s.description())
	s.registerMeta()
	s.registerSignIn()
	s.registerAccount()
	s.registerAccountDelete()
	s.registerKeys()
	s.registerBots()
	s.registerDecisions()
	s.registerMatches()
	s.registerLive()
	s.registerLeaderboard()
	s.registerHistory()
	s.registerLog()
	s.registerSecurityText()
	s.registerArtifacts()
	return s, s.makeArtifacts()
}

// ServeHTTP implements http.Handler. HEAD is answered as GET, less the body.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		r = r.Clone(context.WithValue(r.Context(), headKey{}, true))
		r.Method = http.MethodGet
	}
	s.echo.ServeHTTP(w, r)
}

// trustOrigin lets the arena's own pages call it, also through a proxy that
// changes the Host header.
func (s *Server) trustOrigin() error {
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Host == "" {
		return fmt.Errorf("api: the base URL %q is no URL", s.BaseURL)
	}
	return s.crossSite.AddTrustedOrigin(u.Scheme + "://" + u.Host)
}
