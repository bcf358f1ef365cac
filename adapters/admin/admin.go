// Package admin accepts an operator's orders over HTTP: for example, to drain the
// arena, suspend an account, abort a match, or rotate the seed key. The server stores
// each order as an event, with the operator's reason and the id of the request.
// Repeating an order changes nothing, except that each rotation of the seed key creates
// another key. Create a [Server] and serve [Server.Handler].
//
// The server has no passwords, so it must listen only on loopback, behind a check that
// rejects requests from other websites. The packages domain/owner, domain/arena and
// domain/match decide what an order changes. This package knows nothing about sockets
// or ladders.
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// Prefix is the prefix of every order's path.
const Prefix = "/admin/"

// callTime is the time limit for one order.
const callTime = 30 * time.Second

// Accounts changes the owners' accounts.
type Accounts interface {
	// Change calls decide with an account, and appends the returned events at the
	// account's revision. It may call decide more than once.
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
}

// Directory finds bots.
type Directory interface {
	// OwnerOfBot returns the owner of a bot. If the log contains no such bot, the error
	// is owner.ErrBotUnknown.
	OwnerOfBot(ctx context.Context, botID string) (ownerID string, err error)
	// Wait returns once the directory includes all events up to a position.
	Wait(ctx context.Context, p eventstore.Position) error
}

// Player seats tables and plays matches in this process. If this process does not play
// matches, Abort fails with ErrNotPlaying. If it does not seat tables, Rotate fails with
// ErrNotSeating.
type Player interface {
	// Running returns the number of running matches, and whether this process plays
	// matches at all.
	Running() (matches int, plays bool)
	// Seats reports whether this process seats tables.
	Seats() bool
	// Shared returns how the processes that play share the matches. It is the zero value
	// if this process does not play.
	Shared() Shared
	// WithSeatingPaused pauses seating in this process, calls f, and resumes seating.
	// After that, seating takes into account the events that f has stored.
	WithSeatingPaused(f func())
	// Abort aborts a match, and returns once the ladder has stored the match as void.
	// Its error may be ErrMatchUnknown or ErrMatchOver.
	Abort(ctx context.Context, matchID, reason, request string) error
	// Rotate creates a seed key for new tables and retires the others.
	Rotate(ctx context.Context, reason string, m eventstore.Metadata) (Rotation, error)
}

// Shared says how the processes that play share the matches, as one of them sees it.
type Shared struct {
	Member        string   `json:"member,omitempty"`  // the id of this process among the members
	Members       []Member `json:"members,omitempty"` // the processes that play, sorted by id
	Handovers     uint64   `json:"handovers"`         // how many matches this process has taken over
	FencedAppends uint64   `json:"fencedAppends"`     // how many of its appends the log rejected because another process had taken over the match
}

// Member is a process that plays.
type Member struct {
	ID              string    `json:"id"`
	Host            string    `json:"host"`
	Since           time.Time `json:"since"`           // when the responding process first saw this member, or saw it start again
	Running         int       `json:"running"`         // matches, at its last heartbeat
	MaxMatches      int       `json:"maxMatches"`      // its --max-matches
	Free            int       `json:"free"`            // how many more matches it can take
	MissingSeedKeys []string  `json:"missingSeedKeys"` // ids of the secret seed keys that it lacks; it gets no match that needs them
}

// Rotation lists the ids of the changed seed keys.
type Rotation struct {
	Added   string   `json:"seedKey"`
	Retired []string `json:"retired"`
}

// Options configure a Server. All fields except Outage are required.
type Options struct {
	// Outage returns how long the log has been unavailable, or 0 if it is available, and
	// what has stopped because of that. The status then does not wait for the log. The
	// parameter atLeast is how long a call has already waited without a response.
	Outage    func(atLeast time.Duration) (since time.Duration, stopped string)
	Log       eventstore.Log
	Accounts  Accounts
	Directory Directory
	Player    Player
	Logger    *slog.Logger
}

// Server carries out the operator's orders. It is safe for concurrent use.
type Server struct{ Options }

// New returns a Server.
func New(o Options) *Server { return &Server{o} }

// Handler returns the handler of all paths that begin with Prefix.
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
