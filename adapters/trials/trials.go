// Package trials runs trials: unrated games of paused bots against house bots
// (docs/adr/0049-a-trial-is-a-match-in-a-stream-of-its-own.md). Only the process that
// seats calls [Runner.Run], which begins the trials that owners ordered on any
// process, and resumes those that an earlier process left behind.
//
// The referee plays a trial like a match. For the referee, the Runner is the ladder:
// it ends the trial instead of rating it. The package does not know how an owner
// orders a trial, or how house bots play.
package trials

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"hexarena/domain/ladder"
	"hexarena/domain/owner"
	"hexarena/eventstore"
	"hexarena/projections/directory"
)

const (
	// lookEvery is the time between two looks at the open trials. Each new order causes
	// an additional look.
	lookEvery = 30 * time.Second
	// lookTime is the time limit for beginning one trial.
	lookTime = 15 * time.Second
	// The constant patience is how long a trial may wait until it begins. Its game may
	// then take as long as its mode's wall clock. Once both times together have passed
	// since the order, a trial that is not being played expires.
	patience = time.Hour
	// The constant kept is how long the log keeps the streams of a trial.
	kept = 30 * 24 * time.Hour
)

// House is a seat of a house bot.
type House struct {
	ID   string // the seat's id, which no bot has
	Name string // the seat's name
	Bot  string // the name of the house bot
}

// Houses lists the seats of the house bots in every trial.
var Houses = []House{{"house-1", "greedy", "greedy"}, {"house-2", "greedy 2", "greedy"}, {"house-3", "random", "random"}}

// Accounts changes the owners' accounts.
type Accounts interface {
	Change(ctx context.Context, ownerID string, m eventstore.Metadata, decide func(owner.Account) ([]owner.Event, error)) (owner.Account, eventstore.Position, error)
}

// Directory lists the open trials.
type Directory interface {
	// CatchUp returns once the directory includes all events that the log contained
	// at the time of the call.
	CatchUp(ctx context.Context) error
	// Trials returns the bots whose trial has been ordered and has not ended.
	Trials() []directory.Bot
}

// Referee plays trials. Play returns immediately, and does nothing if the trial is
// already being played.
type Referee interface {
	Play(s ladder.Seating)
	Playing(trialID string) bool
}

// Options configure a Runner. All fields are required.
type Options struct {
	Log       eventstore.Log
	Accounts  Accounts
	Directory Directory
	// SeedKey returns the seed key for new trials, or an empty id if this process does
	// not have it.
	SeedKey func() (id string, key []byte)
	Walls   map[string]time.Duration // the wall clock of each mode
	// BetweenTicks calls f while no tick seats tables. Later ticks take into account
	// all pauses that were stored before the call of f.
	BetweenTicks func(f func())
	// InMatch reads the ladder of a mode, and reports whether a bot is in an
	// unfinished match.
	InMatch func(ctx context.Context, mode, botID string) (bool, error)
	// Draining reports whether an operator is draining the arena.
	Draining func(ctx context.Context) (bool, error)
	Logger   *slog.Logger
}

// Runner begins and ends trials. It is safe for concurrent use.
type Runner struct {
	o Options

	turn    *semaphore.Weighted // held by one caller at a time; guards the fields below. It is held while a trial begins, so that HoldsBack sees the trial or the trial sees the match. Not a mutex: the holder may wait for the log, and a synctest bubble cannot wait for a mutex
	referee Referee
	bots    map[string]directory.Bot // by the id of the trial
}

// New returns a Runner. Call Run to begin trials.
func New(o Options) *Runner {
	return &Runner{o: o, turn: semaphore.NewWeighted(1), bots: map[string]directory.Bot{}}
}

// The method lock() waits until no other caller holds turn. The caller must call unlock
// when it is done.
func (r *Runner) lock() (unlock func()) {
	_ = r.turn.Acquire(context.Background(), 1) // fails only if the context ends
	return func() { r.turn.Release(1) }
}

// Run begins trials until ctx ends. The open trials that earlier processes left behind
// come first. Failures are logged and retried.
func (r *Runner) Run(ctx context.Context, referee Referee) {
	unlock := r.lock()
	r.referee = referee
	unlock()
	ordered := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { r.watch(ctx, ordered) })
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		r.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ordered:
		case <-ticker.C:
		}
	}
}

// watch sends a signal to the channel ordered for each new order. If the subscription
// ends, Run still finds new orders at its next look.
func (r *Runner) watch(ctx context.Context, ordered chan<- struct{}) {
	for {
		err := r.watchOnce(ctx, ordered)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, eventstore.ErrEventsLost) {
			r.o.Logger.Error("trials begin up to 30 s late, because the subscription to orders ended", "error", err)
			return
		}
	}
}

// watchOnce is like watch, but returns the error that ended the subscription.
func (r *Runner) watchOnce(ctx context.Context, ordered chan<- struct{}) error {
	filter := eventstore.Filter{Types: []string{owner.TrialOrdered{}.EventType()}}
	for m, err := range r.o.Log.Subscribe(ctx, eventstore.EndPosition, filter) {
		if err != nil {
			return err
		}
		if m.Event == nil && !m.CaughtUp {
			continue
		}
		select {
		case ordered <- struct{}{}:
		default: // a look is already due
		}
	}
	return ctx.Err()
}

// The method look() begins all open trials that are not being played.
func (r *Runner) look(ctx context.Context) {
	if err := r.o.Directory.CatchUp(ctx); err != nil {
		r.failed(ctx, "could not list the trials", "", err)
		return
	}
	for _, b := range r.o.Directory.Trials() {
		if err := r.begin(ctx, b); err != nil {
			r.failed(ctx, "trial cannot begin", b.Trial, err)
		}
	}
}

func (r *Runner) failed(ctx context.Context, what, trialID string, err error) {
	if ctx.Err() == nil {
		r.o.Logger.Warn(what+"; retrying", "trial", trialID, "error", err)
	}
}

// HoldsBack reports whether one of a match's bots is playing in a trial. In that case,
// the match must wait, because a bot plays only one game at a time. This happens only
// if a process that no longer seats has seated the bot.
func (r *Runner) HoldsBack(s ladder.Seating) bool {
	defer r.lock()()
	for id, b := range r.bots {
		for _, e := range s.Bots {
			if e.BotID == b.ID && r.referee.Playing(id) {
				return true
			}
		}
	}
	return false
}

// Finish implements the referee's Ladder: it ends a trial that was played to the end.
func (r *Runner) Finish(ctx context.Context, trialID string, _ []ladder.Result) error {
	return r.played(ctx, trialID, owner.TrialCompleted)
}

// Void implements the referee's Ladder: it ends a trial that was aborted. The parameter
// why is one of the reasons that package ladder defines. It becomes the trial's outcome.
func (r *Runner) Void(ctx context.Context, trialID, why string) error {
	return r.played(ctx, trialID, why)
}

// Finished implements the referee's Ladder. Only the referee itself ends a trial that has
// begun, so there is nothing to look up.
func (r *Runner) Finished(context.Context, string) (bool, error) { return false, nil }

func (r *Runner) played(ctx context.Context, trialID, outcome string) error {
	unlock := r.lock()
	b := r.bots[trialID]
	unlock()
	if err := r.end(ctx, b, trialID, outcome); err != nil {
		return err
	}
	defer r.lock()()
	delete(r.bots, trialID)
	return nil
}

// end stores the outcome of a trial. It retries while the log is unavailable, until
// ctx ends. If the bot was removed, nothing is left to store.
func (r *Runner) end(ctx context.Context, b directory.Bot, trialID, outcome string) error {
	m := eventstore.Metadata{At: time.Now(), Correlation: trialID}
	err := eventstore.Retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventstore.AttemptTime)
		defer cancel()
		_, _, err := r.o.Accounts.Change(ctx, b.OwnerID, m, func(a owner.Account) ([]owner.Event, error) {
			return a.EndTrial(b.ID, trialID, outcome), nil
		})
		return err
	})
	if err == nil {
		r.o.Logger.Info("trial ended", "trial", trialID, "bot", b.ID, "outcome", outcome)
	}
	return err
}
