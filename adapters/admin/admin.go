// Package admin accepts an operator's orders over HTTP, such as drain, suspend,
// abort, and rotate the seed key. The server stores each order as an event, with
// the operator's reason and the id of the request. Repeating an order changes
// nothing, except that each rotation of the seed key adds a key. Create a [Server]
// and serve [Server.Handler].
//
// The server has no passwords, so it must listen only on loopback, behind a check
// that refuses calls from other sites. The packages domain/owner, domain/arena and
// domain/match decide what an order changes. This package knows nothing about
// sockets or ladders.
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

// callTime limits the time that one order may take.
const callTime = 30 * time.Second

// Accounts changes the owners' accounts.
type Accounts interface {
	// Change calls decide with an account, and stores the returned events at
	// the account's revision. It may call decide more than once.
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
}

// Directory finds bots.
type Directory interface {
	OwnerOfBot(botID string) (ownerID string, ok bool)
	// Wait returns when the directory includes all events up to a position.
	Wait(ctx context.Context, p eventstore.Position) error
}

// Player seats tables and plays matches in this process. If this process does not
// play, Abort and Rotate fail with ErrNotPlaying.
type Player interface {
	// Running returns the number of running matches, and whether this process
	// plays.
	Running() (matches int, plays bool)
	// WithSeatingPaused calls f while this process seats no tables. When seating
	// resumes, it takes into account the events that f stored.
	WithSeatingPaused(f func())
	// Abort aborts a match, and returns when the ladder has stored the match as
	// void. Its error may be ErrMatchUnknown or ErrMatchOver.
	Abort(ctx context.Context, matchID, reason, request string) error
	// Rotate creates a seed key for new tables and retires the others.
	Rotate(ctx context.Context, reason string, m eventstore.Metadata) (Rotation, error)
}

// Rotation lists the ids of the changed seed keys.
type Rotation struct {
	Added   string   `json:"seedKey"`
	Retired []string `json:"retired"`
}

// Options configure a Server. All fields are required.
type Options struct {
	Log       eventstore.Log
	Accounts  Accounts
	Directory Directory
	Player    Player
	Logger    *slog.Logger
}

// Server carries out orders. It is safe for concurrent use.
type Server struct{ Options }

// New returns a Server.
func New(o Options) *Server { return &Server{o} }

// Handler returns the handler for all paths below Prefix.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+Prefix+"drain", takeOrder(s, s.drain))
	mux.Handle("POST "+Prefix+"undrain", takeOrder(s, s.undrain))
	mux.Handle("POST "+Prefix+"suspend", takeOrder(s, s.suspend))
	mux.Handle("POST "+Prefix+"restore", takeOrder(s, s.restore))
	mux.Handle("POST "+Prefix+"abort", takeOrder(s, s.abort))
	mux.Handle("POST "+Prefix+"rotate-seed-key", takeOrder(s, s.rotate))
	mux.Handle("GET "+Prefix+"status", s.answer(func(c *call) (any, error) { return s.status(c.ctx) }))
	mux.Handle(Prefix, s.answer(func(*call) (any, error) { return nil, errUnknownPath }))
	return mux
}
