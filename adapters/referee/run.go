package referee

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
	"hexarena/projections/directory"
)

// run is a match that this process is playing. One goroutine owns the run. It shares
// only the seats with the goroutines that read from the bots' lines, and each seat has
// a lock.
//
// Only the match's stream outlives the process. After a shutdown or a crash, another
// run resumes the match ("Resuming a match" in docs/architecture.md):
//
//   - The method load folds the stream. The events' metadata contains the time played
//     and the time that each seat has used.
//   - The run appends a claim before it dials any bots. After the claim, an older
//     referee cannot append to the stream, because every append expects the revision
//     that the referee has folded.
//   - The folded state contains the open decisions, with the same ids as before. The
//     run sends all of them again, with their full time, because the answers of a batch
//     are only in memory until the last of them has arrived.
//   - If the stream shows that the match has ended, the run only stores the result in
//     the ladder.
//   - If the stream is empty, the match has not started. The run dials the bots,
//     waits for the round of the beacon that the table names, and starts the
//     match. If the round does not arrive in time, the run voids the match.
//
// The effects of a batch reach the bots only after they are stored. So no bot sees an
// effect that a crash could undo.
type run struct {
	options *Options
	clock   *clock
	fenced  *atomic.Uint64
	seating ladder.Seating
	mode    Mode
	ordered context.Context // canceled when an operator aborts the match; its cause is the Order
	stream  eventstore.StreamID
	server  seed.Seed

	state    match.Match
	expected eventstore.Expected // the expected revision of the next append
	last     uuid.UUID           // id of the last stored event
	played   time.Duration       // the time played up to the last append
	used     match.Clocks        // the time that each seat had used up to the last append
	redialed []int64             // for each seat, how long redialing took in the current batch, in milliseconds; nil if no seat was redialed
	noLines  []int               // for each seat, how many of its latest decisions in a row had no line; nil if all are 0
	request  string              // id of the operator's request to abort the match
	why      []match.Event       // explains the timeouts in the current batch
	details  *details

	seats   []*seat                  // in table order, and in the order of play once the match has started
	found   map[string]directory.Bot // the entries that awaitDirectory found, by bot id
	closing sync.WaitGroup
}

// play plays a match until the match is over and the ladder has stored the result. If
// the match was aborted, even before this call, play returns the abort event.
func (r *Referee) play(ctx context.Context, t *task, s ladder.Seating) (*match.Aborted, error) {
	mode, ok := r.options.Modes[s.Mode]
	if !ok {
		return nil, fmt.Errorf("mode %q is unknown", s.Mode)
	}
	server, err := r.options.ServerSeed(ctx, s)
	if err != nil {
		return nil, err
	}
	if seed.Commitment(server) != s.Commitment {
		return nil, fmt.Errorf("seed key %s does not match the commitment of the table", s.SeedKey)
	}
	p := &run{
		options: &r.options, clock: r.clock, fenced: &r.fenced, seating: s, mode: mode, ordered: t.ordered,
		stream: eventstore.StreamID(r.options.Stream(s.MatchID)), server: server,
		found: map[string]directory.Bot{},
	}
	for _, e := range s.Bots {
		p.seats = append(p.seats, p.newSeat(e.BotID))
	}
	p.details = newDetails(ctx, p)
	defer p.details.close()
	defer p.closing.Wait()
	defer p.closeLines()
	abort, err := p.playToEnd(ctx)
	for errors.Is(err, errReplaced) && t.ordered.Err() != nil {
		p.log().Info("taking the match from another referee, because an operator has ordered its abort")
		abort, err = p.playToEnd(ctx)
	}
	if err != nil {
		r.leave(t)
	}
	return abort, err
}

// playToEnd does the work of play, but stops with errReplaced when another process takes
// over the match.
func (p *run) playToEnd(ctx context.Context) (*match.Aborted, error) {
	err := p.startOrResume(ctx)
	if early := (unstarted{}); errors.As(err, &early) {
		p.closeLines()
		return early.abort(), p.voidUnstarted(ctx, early)
	}
	if err == nil {
		err = p.heedVoid(ctx)
	}
	if err == nil {
		err = p.playBatches(ctx)
	}
	if err != nil {
		return nil, err
	}
	p.closeLines()
	return p.state.Abort, p.writeLadder(ctx)
}

// startOrResume folds the events of the match. If the match has no events, it
// starts the match. Otherwise, it claims the match and dials the bots.
func (p *run) startOrResume(ctx context.Context) error {
	if err := p.load(ctx); err != nil || p.state.Over() {
		return err
	}
	if err := p.awaitDirectory(ctx); err != nil {
		return err
	}
	if p.expected == eventstore.NoStream {
		return p.start(ctx)
	}
	if p.options.Resume != nil {
		p.state = p.options.Resume(p.state)
	}
	if err := p.awaitClaim(ctx); err != nil {
		return err
	}
	if err := p.append(ctx, []match.Event{match.Claimed{Player: p.options.Player}}); err != nil {
		return err
	}
	p.orderSeats()
	p.dialAll(ctx)
	p.log().Info("match resumed", "turn", p.state.Game.Turn, "played", p.played)
	return nil
}

// awaitClaim waits until the gate is open, because while it is closed, the match may
// belong to another process. An operator's order does not wait.
func (p *run) awaitClaim(ctx context.Context) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ordered, cancel)()
	p.clock.awaitGate(waiting)
	if ctx.Err() != nil {
		return errStopped
	}
	return nil
}

// playBatches plays the match, one batch of decisions after another, until the match is
// over.
func (p *run) playBatches(ctx context.Context) error {
	wall := time.Duration(p.state.Started.Deadlines.WallMs) * time.Millisecond
	for !p.state.Over() {
		after, events, err := p.nextEvents(ctx, wall-p.played)
		if err != nil {
			return err
		}
		if err := p.store(ctx, events, after); err != nil {
			return err
		}
		p.explain(events)
	}
	return nil
}

// explain stores details about the timeouts in the batch that was just appended: their
// reasons, and the late answers. A late answer that has not arrived yet is stored when
// it arrives.
func (p *run) explain(events []match.Event) {
	p.details.add(p.why...)
	p.why = nil
	for _, e := range events {
		if e, ok := e.(match.DecisionTimedOut); ok {
			p.seats[e.Seat].keepLate(e.Decision, p.details.add)
		}
	}
}

// nextEvents sends the open decisions to the bots, and returns the events that follow
// from the outcomes, and the match after these events. If an operator has ordered an
// abort, or if no time is left on the wall clock, it returns the events of the abort.
func (p *run) nextEvents(ctx context.Context, left time.Duration) (match.Match, []match.Event, error) {
	var order Order
	if errors.As(context.Cause(p.ordered), &order) {
		return p.folded(p.abortBy(order))
	}
	if left <= 0 {
		return p.folded(p.state.Cancel(match.WallClock))
	}
	outcomes, err := p.ask(ctx, p.clock.now()+left)
	p.charge(outcomes)
	switch {
	case errors.Is(err, errWall):
		return p.folded(p.state.Cancel(match.WallClock))
	case errors.As(err, &order):
		return p.folded(p.abortBy(order))
	case err != nil:
		return match.Match{}, nil, err
	}
	after, events, err := p.state.Advance(outcomes)
	p.why = p.state.Explain(outcomes, events)
	return after, events, err
}

// folded adds the match after the events to the results of a decision.
func (p *run) folded(events []match.Event, err error) (match.Match, []match.Event, error) {
	return match.EvolveAll(p.state, events), events, err
}

// charge adds the time of a batch to the clocks, and counts its failed dials. It adds
// only the time that the decisions took, and not the delays of this process before and
// after them. The time of the slowest decision counts as time played, and match.Charge
// decides which seats are charged.
func (p *run) charge(outcomes []match.Outcome) {
	var slowest int64
	for i, d := range p.state.Asks() {
		o := outcomes[i]
		slowest = max(slowest, o.UsedMs)
		if o.RedialMs > 0 {
			if p.redialed == nil {
				p.redialed = make([]int64, len(p.seats))
			}
			p.redialed[d.Seat] = o.RedialMs
		}
	}
	p.played += time.Duration(slowest) * time.Millisecond
	p.used = p.state.Charge(p.used, outcomes)
	p.noLines = p.state.CountFailedDials(p.noLines, outcomes)
}

// writeLadder stores the result of the match in the ladder.
func (p *run) writeLadder(ctx context.Context) error {
	var err error
	if end := p.state.End; end != nil {
		err = p.mode.Ladder.Finish(ctx, p.seating.MatchID, p.results(end.Placements))
	} else {
		err = p.mode.Ladder.Void(ctx, p.seating.MatchID, p.state.Abort.Why)
	}
	if errors.Is(err, ladder.ErrAlreadyFinished) {
		return nil
	}
	if err := p.stored(ctx, err); err != nil {
		return err
	}
	p.log().Info("match over", "why", p.reason(), "turns", p.state.Game.Turn, "played", p.played.Round(time.Millisecond))
	return nil
}

// The method stored() takes the error of writing a match's result to the ladder. If the
// ladder has the result, it returns nil. Otherwise, it returns the error that play()
// returns.
func (p *run) stored(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, ladder.ErrAlreadyFinished):
		return nil
	case ctx.Err() != nil:
		return errStopped
	}
	return fmt.Errorf("write the result to the ladder: %w", err)
}

func (p *run) log() *slog.Logger {
	return p.options.Logger.With("match", p.seating.MatchID, "mode", p.seating.Mode)
}

func (p *run) reason() string {
	if p.state.Abort != nil {
		return p.state.Abort.Why
	}
	return p.state.End.Reason
}

// The method results() returns each bot's placement, and whether the bot missed the
// match.
func (p *run) results(placements []int) []ladder.Result {
	results := make([]ladder.Result, len(placements))
	for i, seat := range p.state.Started.Seats {
		results[i] = ladder.Result{BotID: seat.BotID, Placement: placements[i], Missed: p.state.Missed(i)}
	}
	return results
}

// closeLines starts to close all lines. Use p.closing to wait until they are
// closed.
func (p *run) closeLines() {
	for _, s := range p.seats {
		if line := s.takeLine(); line != nil {
			p.closing.Go(line.Close)
		}
	}
}
