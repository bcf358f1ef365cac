// Package referee plays matches. It sends every open decision of a match to the bot
// that must decide, and measures how long the answer takes. It appends the resulting
// events to the log before anyone sees them. Create a [Referee], and call
// [Referee.Play] for each unfinished match of a ladder.
//
// The package does not know the rules: domain/match decides whole batches. It does not
// know sockets: the caller passes a function that dials. It does not know which matches
// a ladder has, either.
package referee

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections/directory"
)

// Line is an open WebSocket connection to a bot. Its methods are safe for concurrent
// use.
type Line interface {
	// Send writes one text frame and does not retain it. It may block until ctx
	// ends. After an error, the line is unusable.
	Send(ctx context.Context, frame []byte) error
	// Drain waits until the callback receive() has been called with all data that the
	// socket had received before Drain was called. It returns after about a second at
	// most, and soon after ctx ends.
	Drain(ctx context.Context)
	// Fault returns why the line ended, or nil if the reason is unknown. Call it after
	// receive() was called with match.CauseDropped, or after Send failed.
	Fault() *match.Fault
	// Close frees the line within a second, even after an error. After Close,
	// receive() is no longer called.
	Close()
}

// Dial opens a socket to a bot for a match. If ctx ends, the dial stops, but a line
// that is already open stays open. If the error has a method NotAllowed() bool that
// returns true, dialing again cannot succeed. If the error has a method Fault()
// match.Fault, that method returns the fault to store for the decision.
//
// The line calls receive() for each frame, one call at a time, possibly before Dial
// returns. For a text frame, cause is empty, and receive() may retain the frame. For
// malformed data, cause is match.CauseMalformed. For an oversized frame, cause is
// match.CauseOversized. In the last call, cause is match.CauseDropped.
type Dial func(ctx context.Context, url, matchID string, u Upgrade, receive func(frame []byte, cause string)) (line Line, accepted Accepted, err error)

// Accepted contains what a bot's response to an upgrade says about the bot.
type Accepted struct {
	Nonce   string // empty if the bot did not send a valid nonce
	Version string // of the bot's program; empty if the bot did not name a valid version
}

// Upgrade contains what an upgrade request tells a bot: the bot's own id, and facts
// about the match.
type Upgrade struct {
	BotID       string
	Commitment  string // 64 hex digits
	BeaconRound uint64 // the beacon round that the seed uses; 0 without a beacon
	LogIndex    uint64 // the index of the seating in the ladder's signed tree
}

// Ladder stores the results of matches. While the log is unavailable, it retries until
// ctx ends. If the match has already been rated or voided, the error is
// ladder.ErrAlreadyFinished.
type Ladder interface {
	Finish(ctx context.Context, matchID string, results []ladder.Result) error
	Void(ctx context.Context, matchID, why string) error
	// Finished reports whether the match has been rated or voided.
	Finished(ctx context.Context, matchID string) (bool, error)
}

// Mode contains the time limits and the ladder of a mode.
type Mode struct {
	Decision time.Duration // time limit for answering one decision
	Wall     time.Duration // a match is aborted when its time played reaches this limit
	TimeBank bool          // whether the wall clock of a new match is divided among its seats (docs/rules.md, "Time bank")
	Ladder   Ladder
}

// Options configure a Referee. All fields except Gate, Beacon, Stream and Resume are
// required.
type Options struct {
	Log    eventstore.Log
	Dial   Dial
	Modes  map[string]Mode
	Player string // the id of this process, which MatchClaimed stores
	Logger *slog.Logger

	// Gate returns nil while the referee may dial bots and send requests. Otherwise, it
	// returns a channel that is closed when the gate opens. While the gate is closed,
	// the clocks of matches and of decisions do not run. If Gate is nil, the gate is
	// always open.
	Gate func() <-chan struct{}

	// Bots finds a bot, even if it was removed. The referee calls it for each dial,
	// because the bot's URL may have changed. Before a match starts or resumes, it waits
	// until Bots finds all its bots. If Bots does not find a bot later, the match uses
	// the entry that it found before.
	Bots func(botID string) (directory.Bot, bool)
	// ServerSeed returns the server seed of a match. The referee compares the seed with
	// the commitment of the table. SeedsFromKeys derives the seeds of an arena.
	ServerSeed func(ctx context.Context, s ladder.Seating) (seed.Seed, error)
	// Publish waits until the arena has published a signed head that includes the
	// seating. The referee calls it before it dials the bots of a match that has not
	// started. Publish fails only if ctx ends.
	Publish func(ctx context.Context, s ladder.Seating) error

	Beacon Beacon // nil if the arena has no beacon
	// Stream returns the name of a match's stream. If it is nil, the referee uses
	// match.Stream. Trials have their own streams.
	Stream func(matchID string) string
	// Resume replaces the state of a match that has events, before the referee plays
	// it. Matches at home that play on with other dice use it. It must stay nil in an
	// arena, because its matches must follow from their logs.
	Resume func(match.Match) match.Match
}

// SeedsFromKeys returns a function for Options.ServerSeed. It derives the seed of a
// match from the seed key that the table names. find returns a seed key by its id.
func SeedsFromKeys(find func(ctx context.Context, id string) ([]byte, bool)) func(context.Context, ladder.Seating) (seed.Seed, error) {
	return func(ctx context.Context, s ladder.Seating) (seed.Seed, error) {
		key, ok := find(ctx, s.SeedKey)
		if !ok {
			return seed.Seed{}, fmt.Errorf("seed key %s is missing from the secrets file, and this process cannot get it from the log", s.SeedKey)
		}
		return seed.Server(key, s.MatchID), nil
	}
}

// Referee plays any number of matches at the same time. It is safe for
// concurrent use.
type Referee struct {
	options Options
	clock   *clock
	fenced  atomic.Uint64

	mu       sync.Mutex // guards the fields below
	running  map[string]*task
	stopped  bool
	stopBeat func()     // stops the clock's beat, which runs while at least one match is being played
	idle     *sync.Cond // signaled when running is empty
}

// task is a match that a goroutine is playing.
type task struct {
	playing   context.Context // ends when the task is stopped
	cancel    context.CancelCauseFunc
	ordered   context.Context         // ends when an operator aborts the match
	giveOrder context.CancelCauseFunc // aborts the match; only the first Order has an effect

	// Referee.mu guards these fields.
	stopping bool           // whether the task has been told to stop, or has failed while it played
	again    bool           // whether another task resumes the match once this one has ended
	seating  ladder.Seating // what the next task plays; after a loss of events, this may be another table

	done  chan struct{} // closed when the goroutine ends; after that, the fields below may be read
	err   error         // why the goroutine ended before the match was over
	abort *match.Aborted
	next  *task // the task that resumes the match, or nil
}

// New returns a Referee that is not playing any matches yet.
func New(o Options) *Referee {
	if o.Stream == nil {
		o.Stream = match.Stream
	}
	if o.Gate == nil {
		o.Gate = func() <-chan struct{} { return nil }
	}
	r := &Referee{options: o, clock: newClock(time.Now, o.Gate), running: map[string]*task{}}
	r.idle = sync.NewCond(&r.mu)
	return r
}

// Play starts or resumes a match in the background, and returns immediately. It does
// nothing if the match is already being played, or if Stop has been called. If the match
// is just being stopped, or its task has failed but has not ended yet, Play resumes the
// match afterward. Play logs failures; a later call may succeed.
func (r *Referee) Play(s ladder.Seating) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(s, nil)
}

// PlayOut is like Play, but returns once the match is over. If ctx ends first, PlayOut
// stops the match, waits until it has stopped, and returns an error. But if an operator has
// ordered an abort, PlayOut waits for the outcome of the abort, even after ctx has ended.
func (r *Referee) PlayOut(ctx context.Context, s ladder.Seating) error {
	r.mu.Lock()
	t := r.begin(s, nil)
	r.mu.Unlock()
	if t == nil {
		return ErrNotPlaying
	}
	t, err := t.last(ctx)
	if err != nil {
		r.StopMatch(s.MatchID)
		t, _ = t.last(context.WithoutCancel(ctx))
	}
	return t.err
}

// begin returns the task of a match. If the match has no task, begin starts one. If the
// task is stopping, or has failed, another task resumes the match afterward. If o is not
// nil, the task, or the one that resumes the match, aborts the match. After Stop, begin
// returns nil instead of starting a task. The caller must hold r.mu.
func (r *Referee) begin(s ladder.Seating, o *Order) *task {
	t, found := r.running[s.MatchID]
	switch {
	case !found && r.stopped:
		return nil
	case !found:
		t = &task{done: make(chan struct{})}
		t.playing, t.cancel = context.WithCancelCause(context.Background())
		t.ordered, t.giveOrder = context.WithCancelCause(context.Background())
	}
	if o != nil {
		t.giveOrder(*o)
	}
	t.again, t.seating = t.stopping, s
	if !found {
		r.start(s, t)
	}
	return t
}

// start begins to play a match. The caller must hold r.mu.
func (r *Referee) start(s ladder.Seating, t *task) {
	if len(r.running) == 0 {
		r.stopBeat = r.clock.beat()
	}
	r.running[s.MatchID] = t
	go pprof.Do(t.playing, pprof.Labels("match", s.MatchID), func(ctx context.Context) {
		defer r.end(t)
		t.abort, t.err = r.play(ctx, t, s)
		r.report(s, t.err)
	})
}

// The method order() returns the order to abort the match, or nil if there is none.
func (t *task) order() *Order {
	var o Order
	if errors.As(context.Cause(t.ordered), &o) {
		return &o
	}
	return nil
}

// The method stop() stops a task. The caller must hold Referee.mu.
func (t *task) stop() {
	t.stopping, t.again = true, false
	t.cancel(errStopped)
}

// leave notes that a task has failed, although it still closes the lines and stores details.
// If Play, PlayOut or Abort is called from now on, another task resumes the match once this
// one has ended.
func (r *Referee) leave(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.stopping = true
}

// end removes a task that has ended. If necessary, it begins the task that resumes the
// match. That task gets the order to abort the match, which may have come too late for this
// one.
func (r *Referee) end(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := t.order()
	if o != nil && (errors.Is(t.err, eventstore.ErrEventsLost) || errors.Is(t.err, errReplaced)) {
		t.again = true
	}
	t.cancel(nil) // this call and the next one release the resources of the contexts
	t.giveOrder(nil)
	delete(r.running, t.seating.MatchID)
	if len(r.running) == 0 {
		r.stopBeat()
	}
	if t.again {
		t.next = r.begin(t.seating, o)
	}
	close(t.done)
	if len(r.running) == 0 {
		r.idle.Broadcast()
	}
}

// last waits until a task has ended, and all tasks that resumed its match after it. It
// returns the last one. If ctx ends first, it returns the one that is running, and
// ctx.Err().
func (t *task) last(ctx context.Context) (*task, error) {
	for {
		select {
		case <-t.done:
		case <-ctx.Done():
			return t, ctx.Err()
		}
		if t.next == nil {
			return t, nil
		}
		t = t.next
	}
}

// Running returns the number of matches that are being played.
func (r *Referee) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running)
}

// Playing reports whether a match is being played.
func (r *Referee) Playing(matchID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[matchID] != nil
}

// Matches returns the ids of the matches that are being played.
func (r *Referee) Matches() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.running))
}

// Fenced returns how many appends were rejected because another referee had taken over
// the match.
func (r *Referee) Fenced() uint64 { return r.fenced.Load() }

// StopMatch stops playing a match that another process plays from now on. Requests that
// wait for the gate are not sent anymore. An append that is in progress may still be
// stored. For heedTime, the abort of a match that its ladder has voided may be stored too.
// If an operator has ordered this referee to abort the match, StopMatch does nothing.
func (r *Referee) StopMatch(matchID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.running[matchID]; t != nil && t.ordered.Err() == nil {
		t.stop()
	}
}

// Wait waits until no match is being played.
func (r *Referee) Wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.running) > 0 {
		r.idle.Wait()
	}
}

// Stop permanently stops playing all matches, for example at shutdown. It waits until
// all matches have stopped. If ctx ends first, Stop returns ctx.Err(). After that, the
// referee does not send requests, decide or append anything, but an append that is in
// progress may still be stored. Open decisions stay open, so no seat
// gets a strike because the referee stops.
func (r *Referee) Stop(ctx context.Context) error {
	r.mu.Lock()
	r.stopped = true
	for _, t := range r.running {
		t.stop()
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

// Interrupt stops playing all matches, without waiting. Unlike Stop, it allows later calls
// to Play, which read the matches' streams again. Call it if the log has lost events that
// the referee has folded. After Interrupt, a running match appends at most the abort of a
// match that its ladder has voided, so no match continues from an event that is lost. If an
// operator has ordered an abort, Interrupt itself resumes the match, to carry the order out.
func (r *Referee) Interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.running {
		t.stop()
		t.again = t.ordered.Err() != nil
	}
}

// A referee may stop playing an unfinished match for these reasons, which are not
// failures.
var (
	errStopped  = errors.New("this process stopped playing")
	errReplaced = errors.New("another referee is playing the match")
)

func (r *Referee) report(s ladder.Seating, err error) {
	log := r.options.Logger.With("match", s.MatchID, "mode", s.Mode)
	switch {
	case err == nil:
	case errors.Is(err, errStopped), errors.Is(err, errReplaced), errors.Is(err, eventstore.ErrEventsLost):
		log.Info("match left unfinished", "why", err)
	case errors.Is(err, ladder.ErrUnknownMatch):
		log.Warn("the ladder does not know the match; the log may have lost its seating", "error", err)
	default:
		log.Error("could not play a match; the next tick retries", "error", err)
	}
}
