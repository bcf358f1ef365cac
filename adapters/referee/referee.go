// Package referee plays matches: it asks every decision that is owed, times
// it, and appends what follows before anyone sees it. One goroutine plays one
// match; a stop or a crash leaves the match in the log as it stands, and
// playing it again goes on from there, with the same decision ids.
//
// It knows no rule of play (domain/match decides in whole batches), no socket
// (its lines are given to it), and not which matches there are: whoever reads
// the ladder calls [Referee.Play] for each that is unfinished.
package referee

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
)

// Line is an open socket to a bot. Its methods are safe for concurrent use.
type Line interface {
	// Send writes one text frame, which it does not keep. It may be held up
	// until ctx ends; after an error the line is gone.
	Send(ctx context.Context, frame []byte) error
	// Drain returns when all that the socket had received before the call has
	// been handed to receive, or when ctx ends.
	Drain(ctx context.Context)
	// Close frees the line within a second, a line that is gone too. After it
	// receive is not called any more.
	Close()
}

// Dial opens the socket of a match; ctx bounds the dial, not the line. The
// nonce is the bot's own, empty where it sent none that counts. An error with a
// method NotAllowed() bool that says true is for good.
//
// receive is called on the line's reader, one call at a time, perhaps before
// Dial returns: with cause "" and a text frame, which is the receiver's to
// keep; with match.CauseMalformed and what came; with match.CauseOversized; and
// last with match.CauseDropped.
type Dial func(ctx context.Context, url, matchID, commitment string, receive func(frame []byte, cause string)) (line Line, nonce string, err error)

// Bot is what the directory knows of a bot today.
type Bot struct {
	Name    string
	OwnerID string
	URL     string
}

// Ladder is told how matches ended. While the log is away it tries again until
// ctx ends. ladder.ErrAlreadyFinished says that the match was rated or voided
// before.
type Ladder interface {
	Finish(ctx context.Context, matchID string, results []ladder.Result) error
	Void(ctx context.Context, matchID, why string) error
}

// Mode is what a mode's matches are played by.
type Mode struct {
	Decision time.Duration // to answer one decision
	Wall     time.Duration // time played after which a match is aborted
	Ladder   Ladder
}

// Config is what a Referee needs; all of it is required.
type Config struct {
	Log    eventstore.Log
	Dial   Dial
	Modes  map[string]Mode
	Player string // who claims matches, as MatchClaimed names it
	Logger *slog.Logger

	// Bots looks a bot up, removed ones too. It is asked again at every dial.
	Bots func(botID string) (Bot, bool)
	// SeedKey returns a seed key by its id.
	SeedKey func(id string) ([]byte, bool)
}

// Referee plays any number of matches at once.
type Referee struct {
	config Config
	clock  *clock

	mu      sync.Mutex // guards what follows
	running map[string]*playing
	stopped bool
	rest    func()     // ends the clock's beat
	idle    *sync.Cond // signalled when running empties
}

// playing is a match that is being played.
type playing struct {
	stop   func()
	orders orders
	done   chan struct{} // closed once it is left; then the rest may be read
	err    error         // why it was left before its end
	abort  *match.Aborted
}

// New returns a referee that plays nothing yet.
func New(c Config) *Referee {
	r := &Referee{config: c, clock: newClock(time.Now), running: map[string]*playing{}}
	r.idle = sync.NewCond(&r.mu)
	return r
}

// Play plays a match to its end, or on from where the log has it, and returns
// at once. It does nothing for a match that is being played and after Stop.
// Whatever keeps a match from its end is logged; playing it again may mend it.
func (r *Referee) Play(s ladder.Seating) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(s)
}

// begin returns the playing of a match, which it begins unless it is on; nil after
// Stop. The caller holds the lock.
func (r *Referee) begin(s ladder.Seating) *playing {
	if g := r.running[s.MatchID]; g != nil || r.stopped {
		return g
	}
	if len(r.running) == 0 {
		r.rest = r.clock.beat()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	g := &playing{stop: func() { cancel(errStopped) }, orders: newOrders(), done: make(chan struct{})}
	r.running[s.MatchID] = g
	go func() {
		defer r.left(s.MatchID, g)
		g.abort, g.err = r.play(ctx, s, g.orders)
		r.report(s, g.err)
	}()
	return g
}

func (r *Referee) left(matchID string, g *playing) {
	g.stop()
	g.orders.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	close(g.done)
	delete(r.running, matchID)
	if len(r.running) == 0 {
		r.rest()
		r.idle.Broadcast()
	}
}

// Running is how many matches are being played.
func (r *Referee) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running)
}

// Wait returns when no match is being played.
func (r *Referee) Wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.running) > 0 {
		r.idle.Wait()
	}
}

// Stop ends all playing for good, as when the lease is lost, and waits until it
// has ended, or returns the error of ctx. Nothing more is asked, decided or
// appended; an append under way may still be stored. Open decisions are left
// open: no seat is struck for our stop.
func (r *Referee) Stop(ctx context.Context) error {
	r.mu.Lock()
	r.stopped = true
	for _, g := range r.running {
		g.stop()
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		r.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Why a match is left before its end without anything being wrong.
var (
	errStopped  = errors.New("playing was stopped")
	errReplaced = errors.New("another referee plays the match")
)

func (r *Referee) report(s ladder.Seating, err error) {
	log := r.config.Logger.With("match", s.MatchID, "mode", s.Mode)
	switch {
	case err == nil:
	case errors.Is(err, errStopped), errors.Is(err, errReplaced):
		log.Info("match left", "why", err)
	default:
		log.Error("match cannot go on", "error", err)
	}
}
