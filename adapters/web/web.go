// Package web serves the web pages of the arena. The server renders them with
// html/template. One style sheet and small ES modules enhance the pages, but each
// page works without scripts. All files are in the binary. The
// Content-Security-Policy does not let pages load anything from another host.
//
// A page gets its data from the arena's REST interface, inside the process
// (api_client.go). A form becomes the call that a program would make. Only the functions
// Spread, House, Registered and Tallies get their data from elsewhere. This data is public,
// but no call returns it, except as part of a bot's whole history. This package knows
// nothing about the log, sessions, rate limits or permissions.
//
// Call New first. Server.register lists the pages.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hexarena/domain/ladder"
	"hexarena/projections/leaderboard"
)

// Bot contains the public facts of a registered bot. Owner is a handle.
type Bot struct{ Name, Owner, Mode string }

// Options configure a Server. All fields are required.
type Options struct {
	// API serves every path that is not a page. It also receives the API calls that the
	// server makes for forms.
	API http.Handler
	// Reads serves the data that pages show. It does not count these calls against
	// the reader's rate limits.
	Reads http.Handler
	// Count counts a page as the given number of calls against its reader's rate
	// limits, and sets headers in h. If the reader is over a limit, Count returns the
	// number of seconds to wait, and otherwise 0.
	Count func(h http.Header, r *http.Request, calls int) int
	// CountFile is like Count, for one of the files that pages load.
	CountFile func(h http.Header, r *http.Request) int
	// Turn limits how many expensive pages and calls are in progress at the same time.
	// It waits for a free place. After the expensive part, the caller must call the
	// function done(). Turn returns an error if the wait takes too long.
	Turn func(context.Context) (done func(), err error)
	// Spread returns three sigma of each bot's skill in a mode, by bot id. The
	// parameter at is the time of the estimate (RFC 3339; empty means now). Spread
	// leaves out bots whose sigma is unknown.
	Spread func(mode, at string) map[string]float64
	// House reports whether a bot belongs to the house (owner.House).
	House func(botID string) bool
	// Registered returns the public facts of a bot that may not have played yet. It does
	// not find removed bots. If the error is not nil, a bot that it does not find may
	// exist.
	Registered func(botID string) (b Bot, found bool, err error)
	Tallies    Tallies
	BaseURL    string        // the arena's address, as browsers use it
	Tick       time.Duration // time between two ticks of matchmaking
	Now        func() time.Time
	Logger     *slog.Logger
}

// Tallies counts a bot's matches by seat, by version, by rival and by the wall clock.
type Tallies interface {
	BySeat(botID string) ([]leaderboard.SeatTally, error)
	ByVersion(botID string) ([]leaderboard.VersionTally, error)
	// HeadToHead lists the bots that a bot has played against, the most frequent
	// first.
	HeadToHead(botID string) ([]leaderboard.Rival, error)
	// Against counts a bot's results against a rival, by the bot's seat.
	Against(botID, rivalID string) ([]leaderboard.SeatRival, error)
	// ClockAborts counts the matches that the wall clock aborted.
	ClockAborts(botID string) (leaderboard.ClockAborts, error)
}

// Server serves pages and passes all other requests to the API. It is safe for
// concurrent use.
type Server struct {
	Options
	origin    string // scheme and host of BaseURL, without a slash
	mux       *http.ServeMux
	crossSite *http.CrossOriginProtection
	assets    *assets
	templates templates
	previews  *previews
	rankings  rankingCache
	local     bool // the server is a viewer (see NewViewer)
}

// Assets, templates and guides depend only on embedded files, so all servers of a
// process share them. The first request for a guide renders all guides, because a start
// would take longer otherwise.
var (
	assetsOnce    = sync.OnceValues(newAssets)
	templatesOnce = sync.OnceValues(newTemplates)
	guidesOnce    = sync.OnceValues(renderGuides)
)

// New returns a Server. It fails if an option is missing, if BaseURL is not an
// absolute URL, or if an embedded template is invalid.
func New(o Options) (*Server, error) {
	if o.API == nil || o.Reads == nil || o.Count == nil || o.CountFile == nil || o.Turn == nil || o.Spread == nil || o.House == nil || o.Registered == nil || o.Tallies == nil || o.Tick <= 0 || o.Now == nil || o.Logger == nil {
		return nil, errors.New("web: an option is missing")
	}
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	s.register()
	return s, nil
}

// newServer returns a Server without pages.
func newServer(o Options) (*Server, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("web: the base URL %q is not an absolute URL", o.BaseURL)
	}
	s := &Server{Options: o, origin: u.Scheme + "://" + u.Host, mux: http.NewServeMux(), crossSite: http.NewCrossOriginProtection(), previews: newPreviews()}
	if err := s.crossSite.AddTrustedOrigin(s.origin); err != nil {
		return nil, fmt.Errorf("web: the base URL %q: %w", o.BaseURL, err)
	}
	if s.assets, err = assetsOnce(); err != nil {
		return nil, err
	}
	if s.templates, err = templatesOnce(); err != nil {
		return nil, err
	}
	return s, nil
}

// register adds the pages and the files that they load.
func (s *Server) register() {
	s.registerShared()
	s.handle("/{$}", page{get: (*pageRequest).home})
	s.handle("/games", page{get: (*pageRequest).games})
	s.handle("/ladder", page{get: func(p *pageRequest) error { return p.seeOther("/ladder/standard") }})
	s.handle("/ladder/{mode}", page{get: (*pageRequest).ladder})
	s.handle("/bot/{id}", page{get: (*pageRequest).bot})
	s.handle("/bot/{id}/live", page{get: (*pageRequest).botLive})
	s.handle("/bot/{id}/against/{rival}", page{get: (*pageRequest).against})
	for _, mode := range ladder.Modes {
		s.handle("/watch/top/"+mode, page{get: func(p *pageRequest) error { return p.watchTop(mode) }})
	}
	s.handle("/watch/{id}", page{get: (*pageRequest).watch})
	s.handle("/watch/{id}/statistics", page{get: (*pageRequest).statistics})
	s.handle("/watch/{id}/next/{bot}", page{get: (*pageRequest).nextMatch})
	s.handle("/watch/{id}/previous/{bot}", page{get: (*pageRequest).previousMatch})
	s.handle("/watch/{id}/preview.png", page{get: (*pageRequest).preview})

	s.handle("/sign-in", page{get: (*pageRequest).signInPage, post: (*pageRequest).signIn, shared: true})
	s.handle("/sign-in/confirm", page{get: (*pageRequest).confirmPage, post: (*pageRequest).confirm, shared: true, private: true})
	s.handle("/dashboard", page{get: (*pageRequest).dashboard, private: true})
	s.handle("/dashboard/bots", page{post: (*pageRequest).registerBot, private: true})
	s.handle("/dashboard/bots/{id}", page{get: (*pageRequest).managedBot, post: (*pageRequest).changeBot, private: true})
	s.handle("/dashboard/bots/{id}/trials/{trial}", page{get: (*pageRequest).trial, private: true})
	s.handle("/dashboard/bots/{id}/trials/{trial}/replay", page{get: (*pageRequest).trialReplay, private: true})
	s.handle("/dashboard/keys", page{get: (*pageRequest).keys, post: (*pageRequest).registerKey, private: true})
	s.handle("/dashboard/keys/{id}", page{get: (*pageRequest).askToRevoke, post: (*pageRequest).revokeKey, private: true})
	s.handle("/dashboard/account", page{get: (*pageRequest).account, post: (*pageRequest).changeAccount, private: true})

	s.handle("/docs", page{get: func(p *pageRequest) error { return p.seeOther("/docs/quickstart") }})
	s.handle("/docs/{name}", page{get: (*pageRequest).guide})
	s.handle("/docs/api", page{get: (*pageRequest).apiReference, shared: true})
	s.handle("/docs/audit/{file}", page{get: (*pageRequest).auditFile})
	s.handle("/changelog", page{get: func(p *pageRequest) error { return p.showGuide("changelog") }, shared: true, jsonGet: true})
}

// registerShared adds the pages and the files that an arena and a viewer share.
func (s *Server) registerShared() {
	s.handle("/theme", page{post: (*pageRequest).chooseTheme})
	s.handle("/spoilers", page{post: (*pageRequest).chooseSpoilers})
	s.handle("/bot/{id}/log/{match}", page{get: (*pageRequest).decisionLog, private: true})
	s.handle("/favicon.ico", page{get: func(p *pageRequest) error {
		p.w.Header().Set("Location", "/favicon.svg")
		p.w.WriteHeader(http.StatusMovedPermanently)
		return nil
	}})
	s.mux.HandleFunc("/assets/{version}/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.serveAsset(w, r, r.PathValue("name"), r.PathValue("version") == s.assets.version)
	})
	for _, name := range []string{"favicon.svg", "robots.txt"} {
		s.mux.HandleFunc("/"+name, func(w http.ResponseWriter, r *http.Request) { s.serveAsset(w, r, name, false) })
	}
}

// handler sends a page or processes a form. If it returns a *Refusal, the server
// sends an error page with the refusal's status. For any other error, the status is
// 500.
type handler func(*pageRequest) error

// formHandler processes a form. The method handle has already checked that the
// form does not come from another site.
type formHandler func(p *pageRequest, sent url.Values) error

// handle reads the form and calls f.
func (f formHandler) handle(p *pageRequest) error {
	sent, err := p.form()
	if err != nil {
		return err
	}
	return f(p, sent)
}

// page contains the handlers of one path. A nil handler means that the page does not
// serve that method. If the field shared is true, the API then serves the call.
// Otherwise, the response is 405.
type page struct {
	get     handler
	post    formHandler
	shared  bool // the API serves other methods of this path, and POST of JSON
	jsonGet bool // the API serves GET, unless the client prefers HTML
	private bool // see pageRequest
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A pattern of http.ServeMux cannot contain a part of a segment.
	if handle, ok := strings.CutPrefix(r.URL.Path, "/@"); ok && !s.local && !strings.Contains(handle, "/") {
		r.SetPathValue("handle", handle)
		s.serve(w, r, page{get: (*pageRequest).owner})
		return
	}
	if _, pattern := s.mux.Handler(r); pattern != "" {
		s.mux.ServeHTTP(w, r) // call ServeMux, not the handler, because ServeMux sets the path values
		return
	}
	s.passToAPI(w, r)
}

// handle adds a page at a pattern of http.ServeMux.
func (s *Server) handle(path string, p page) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, p) })
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, p page) {
	if p.jsonGet {
		w.Header().Add("Vary", "Accept")
	}
	request := &pageRequest{server: s, w: w, r: r, private: p.private}
	h := p.pick(r)
	switch {
	case h != nil:
		request.serve(h)
	case p.shared:
		s.API.ServeHTTP(w, r)
	default:
		w.Header().Set("Allow", p.allows())
		request.serve(func(*pageRequest) error {
			return refused(http.StatusMethodNotAllowed, "This page does not support that method.")
		})
	}
}

// pick returns the page's handler for a request. If the page does not serve the
// request, it returns nil.
func (p page) pick(r *http.Request) handler {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if !p.jsonGet || prefersHTML(r.Header) {
			return p.get
		}
	case http.MethodPost:
		if p.post != nil && (!p.shared || sendsForm(r.Header)) {
			return p.post.handle
		}
	}
	return nil
}

func (p page) allows() string {
	var methods []string
	if p.get != nil {
		methods = append(methods, http.MethodGet, http.MethodHead)
	}
	if p.post != nil {
		methods = append(methods, http.MethodPost)
	}
	return strings.Join(methods, ", ")
}
