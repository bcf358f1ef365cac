// Package admin is what operators order of an arena, over HTTP: to drain, to
// suspend, to abort, to rotate its seed key. Each order has a reason, and becomes
// an event that holds it and names the request; carried out before it is an
// order that changes nothing.
//
// It has no passwords: it is for an address on loopback, and refuses what
// another site has a browser send there. It decides nothing (domain/owner,
// domain/arena and domain/match do), and knows neither sockets nor ladders:
// Options plugs in who plays.
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Prefix begins the path of every order.
const Prefix = "/admin/"

// callTime is how long the work on an order may take.
const callTime = 30 * time.Second

// Accounts are the owners' accounts as the log holds them.
type Accounts interface {
	// Change decides on an account and stores what was decided at the exact
	// revision; decide may be called more than once.
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
}

// Directory finds bots.
type Directory interface {
	OwnerOfBot(botID string) (ownerID string, ok bool)
	// Wait returns once everything up to a position of the log is found.
	Wait(ctx context.Context, p eventstore.Position) error
}

// Player is what seats and plays in this process. Where nothing does, Abort and
// Rotate fail with ErrNotPlaying.
type Player interface {
	// Running says whether this process plays, and how many matches.
	Running() (matches int, plays bool)
	// WithSeatingPaused runs f while nobody is being seated here; seatings that follow
	// honour what f has stored.
	WithSeatingPaused(f func())
	// Abort aborts a match, and returns once its ladder has it as void. It fails
	// with ErrMatchUnknown and ErrMatchOver.
	Abort(ctx context.Context, matchID, reason, request string) error
	// Rotate puts a new seed key into use and retires the others.
	Rotate(ctx context.Context, reason string, m eventstore.Metadata) (Rotation, error)
}

// Rotation is what became of the seed keys, by their ids.
type Rotation struct {
	Added   string   `json:"seedKey"`
	Retired []string `json:"retired"`
}

// Options plug a Server together; all fields but Now and Logger are needed.
type Options struct {
	Log       eventstore.Log
	Accounts  Accounts
	Directory Directory
	Player    Player
	Now       func() time.Time
	Logger    *slog.Logger
}

// Server takes orders. It is safe for concurrent use.
type Server struct{ Options }

// New returns a Server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Server{o}
}

// Handler serves the orders, below Prefix.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+Prefix+"drain", takes(s, s.drain))
	mux.Handle("POST "+Prefix+"undrain", takes(s, s.undrain))
	mux.Handle("POST "+Prefix+"suspend", takes(s, s.suspend))
	mux.Handle("POST "+Prefix+"restore", takes(s, s.restore))
	mux.Handle("POST "+Prefix+"abort", takes(s, s.abort))
	mux.Handle("POST "+Prefix+"rotate-seed-key", takes(s, s.rotate))
	mux.Handle("GET "+Prefix+"status", s.answers(func(c *call) (any, error) { return s.status(c.ctx) }))
	mux.Handle(Prefix, s.answers(func(*call) (any, error) { return nil, errUnknownPath }))
	crossSite := http.NewCrossOriginProtection()
	crossSite.SetDenyHandler(s.answers(func(*call) (any, error) { return nil, errCrossSite }))
	return crossSite.Handler(s.onlyByAddress(mux))
}
