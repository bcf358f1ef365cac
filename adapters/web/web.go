// Package web serves the pages that people see. The server renders them with
// html/template; one style sheet and small ES modules add to them. Each page works
// without scripts. All files are in the binary. No page loads anything from another
// host: the Content-Security-Policy forbids it.
//
// A page gets its data from the arena's REST interface, inside the process
// (api_client.go). A form becomes the call that a program would make. Spread and
// Tallies are public figures that no call returns. So this package does not know
// the log, sessions, rate limits or permissions.
//
// Start with New. Each page is registered in the file that holds its handler; see
// Server.register.
package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"hexarena/projections/leaderboard"
)

// Options are the dependencies of a Server. All are required.
type Options struct {
	// API serves every path that is not a page, and the calls that forms become.
	API http.Handler
	// Reads serves the data that pages show. It does not count these calls against
	// the reader's rate limits.
	Reads http.Handler
	// Count counts a page against its reader's rate limits and sets headers in h.
	// It returns the seconds to wait for a reader who is over a limit, else 0.
	Count func(h http.Header, r *http.Request) int
	// Spread returns three sigma of each bot's skill, by bot id, as a mode's ladder
	// estimated it at a time (RFC 3339; empty means now). Bots without a known
	// sigma are absent.
	Spread  func(mode, at string) map[string]float64
	Tallies Tallies
	BaseURL string // the arena's address as browsers see it
	Logger  *slog.Logger
}

// Tallies sums up a bot's rated matches.
type Tallies interface {
	BySeat(botID string) ([]leaderboard.SeatTally, error)
	// HeadToHead lists the bots that a bot has played with, the most frequent first.
	HeadToHead(botID string) ([]leaderboard.Rival, error)
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
	guides    map[string]*guide
}

// Assets and guides depend only on embedded files, so that all servers of a process
// share them.
var (
	assetsOnce = sync.OnceValues(newAssets)
	guidesOnce = sync.OnceValues(renderGuides)
)

// New returns a Server. It fails if an option is missing, if BaseURL is not an
// absolute URL, or if an embedded template or guide is invalid.
func New(o Options) (*Server, error) {
	if o.API == nil || o.Reads == nil || o.Count == nil || o.Spread == nil || o.Tallies == nil || o.Logger == nil {
		return nil, errors.New("web: an option is missing")
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("web: the base URL %q is not an absolute URL", o.BaseURL)
	}
	s := &Server{Options: o, origin: u.Scheme + "://" + u.Host, mux: http.NewServeMux(), crossSite: http.NewCrossOriginProtection()}
	if err := s.crossSite.AddTrustedOrigin(s.origin); err != nil {
		return nil, fmt.Errorf("web: the base URL %q: %w", o.BaseURL, err)
	}
	if s.assets, err = assetsOnce(); err != nil {
		return nil, err
	}
	if s.templates, err = parseTemplates(s.assets); err != nil {
		return nil, err
	}
	if s.guides, err = guidesOnce(); err != nil {
		return nil, err
	}
	s.register()
	return s, nil
}

// register adds the pages, file by file.
func (s *Server) register() {
	s.registerAssets()
	s.registerHome()
	s.registerLadder()
	s.registerBotPage()
	s.registerWatch()
	s.registerSignIn()
	s.registerDashboard()
	s.registerGuides()
}

// handler shows a page or takes a form. A *Refusal that it returns is shown as a
// page with its status, any other error as a page with status 500.
type handler func(*pageRequest) error

// page holds the handlers of one path. If get or post is nil, the API serves that
// method of a shared path; another path answers 405.
type page struct {
	get, post handler
	shared    bool // the API serves other methods of this path, and POST of JSON
	jsonGet   bool // the API serves GET, unless the client prefers HTML
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern != "" {
		s.mux.ServeHTTP(w, r) // not the handler itself: ServeMux sets the path's values
		return
	}
	s.passToAPI(w, r)
}

// handle adds a page at a pattern of http.ServeMux.
func (s *Server) handle(path string, p page) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if p.jsonGet {
			w.Header().Add("Vary", "Accept")
		}
		h, shared := p.pick(r)
		switch {
		case h != nil:
			s.servePage(w, r, h)
		case shared:
			s.API.ServeHTTP(w, r)
		default:
			w.Header().Set("Allow", p.allows())
			s.servePage(w, r, func(*pageRequest) error {
				return refused(http.StatusMethodNotAllowed, "This page does not support that method.")
			})
		}
	})
}

// pick returns the handler of a request. If it is nil, shared tells whether the
// API serves the request.
func (p page) pick(r *http.Request) (h handler, shared bool) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		h = p.get
		if p.jsonGet && !prefersHTML(r.Header) {
			h = nil
		}
	case http.MethodPost:
		h = p.post
		if p.shared && !sendsForm(r.Header) {
			h = nil
		}
	}
	return h, p.shared
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
