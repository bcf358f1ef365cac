// Package web is what people see: pages rendered on the server with
// html/template, one style sheet, and small ES modules that add to pages that
// work without them. All of it is in the binary; no page asks another host for
// anything, and the Content-Security-Policy holds it to that.
//
// What a page shows it asks of the arena's REST interface, within the process
// (inside.go), and what a form sends becomes the call that a program would make;
// what no call answers, Spread and Tallies, are public figures. So it knows
// nothing of the log, of sessions, of limits or of who may do what.
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

// Options plug a Server together. Only API and BaseURL must be there.
type Options struct {
	// API answers what is no page, and the calls that forms become.
	API http.Handler
	// Reads answers what pages ask to show themselves, without counting it
	// against the reader's limits; nil: API.
	Reads http.Handler
	// Count counts a page against its reader's limits, and returns how many
	// seconds a reader who is over them has to wait, else 0. h are the answer's
	// headers.
	Count func(h http.Header, r *http.Request) int
	// Spread says how sure a mode's ladder was of each bot at a time (RFC 3339;
	// empty: now): three sigma, by bot id. nil: it is not shown.
	Spread func(mode, at string) map[string]float64
	// Tallies sums up a bot's rated matches; nil: that is not shown.
	Tallies Tallies
	BaseURL string // the arena's own address, as browsers see it
	Logger  *slog.Logger
}

// Tallies is the projection of what rated matches did.
type Tallies interface {
	BySeat(botID string) ([]leaderboard.SeatTally, error)
	// HeadToHead lists who a bot has played with, the most frequent first.
	HeadToHead(botID string) ([]leaderboard.Rival, error)
}

// Server serves pages, and hands on what is none to the API. It is safe for
// concurrent use.
type Server struct {
	Options
	origin    string // of BaseURL, without a slash
	mux       *http.ServeMux
	crossSite *http.CrossOriginProtection
	assets    *assets
	templates templates
	guides    map[string]*guide
}

// The files and the guides are the program's own: they are made once.
var (
	assetsOnce = sync.OnceValues(newAssets)
	guidesOnce = sync.OnceValues(renderGuides)
)

// New returns a Server, or what is wrong with its options or its files.
func New(o Options) (*Server, error) {
	if o.API == nil {
		return nil, errors.New("web: an option is missing")
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("web: the base URL %q is no URL", o.BaseURL)
	}
	if o.Reads == nil {
		o.Reads = o.API
	}
	if o.Count == nil {
		o.Count = func(http.Header, *http.Request) int { return 0 }
	}
	if o.Spread == nil {
		o.Spread = func(string, string) map[string]float64 { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{Options: o, origin: u.Scheme + "://" + u.Host, mux: http.NewServeMux(), crossSite: http.NewCrossOriginProtection()}
	if err := s.crossSite.AddTrustedOrigin(s.origin); err != nil {
		return nil, fmt.Errorf("web: the base URL: %w", err)
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

// register lists the pages, file by file.
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

// handler shows a page or takes a form. An error of a *Refusal is shown as a
// page with its status, any other as 500.
type handler func(*pageRequest) error

// page is what a path does. A nil get or post is the API's, if shared,
// else 405.
type page struct {
	get, post handler
	shared    bool // the API has other methods of this path, or takes JSON by POST
	programs  bool // GET is the API's for who would rather have JSON
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern != "" {
		s.mux.ServeHTTP(w, r) // rather than the handler: it fills in what the path names
		return
	}
	s.elsewhere(w, r)
}

// handle adds a page at a path as http.ServeMux writes it.
func (s *Server) handle(path string, p page) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if p.programs {
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
				return refused(http.StatusMethodNotAllowed, "This page does not take that method.")
			})
		}
	})
}

// pick is what answers a request: a handler, or the API.
func (p page) pick(r *http.Request) (h handler, shared bool) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		h = p.get
		if p.programs && !prefersHTML(r.Header) {
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
