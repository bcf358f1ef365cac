package referee

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

// play is one match while it is being played. All of it belongs to the match's
// goroutine; what a line's reader touches is the seats', under their locks.
type play struct {
	config  *Config
	clock   *clock
	seating ladder.Seating
	mode    Mode
	orders  orders
	stream  eventstore.StreamID

	state    match.Match
	expected eventstore.Expected // of the next append
	last     uuid.UUID           // the last event stored
	played   time.Duration       // time played, up to the last append
	request  string              // of the operator who has the match aborted

	seats   []*seat // by seat, once the match has started
	closing sync.WaitGroup
}

// play plays one match until it is over and the ladder knows, or returns why
// not. With a match that was aborted, however long ago, comes how.
func (r *Referee) play(ctx context.Context, s ladder.Seating, o orders) (*match.Aborted, error) {
	mode, ok := r.config.Modes[s.Mode]
	if !ok {
		return nil, fmt.Errorf("mode %q is not played here", s.Mode)
	}
	key, ok := r.config.SeedKey(s.SeedKey)
	if !ok {
		return nil, fmt.Errorf("seed key %s is missing", s.SeedKey)
	}
	server := seed.Server(key, s.MatchID)
	if seed.Commitment(server) != s.Commitment {
		return nil, fmt.Errorf("seed key %s is not the one that the match was seated with", s.SeedKey)
	}
	p := &play{
		config: &r.config, clock: r.clock, seating: s, mode: mode, orders: o,
		stream:   eventstore.StreamID(match.Stream(s.MatchID)),
		state:    match.New(server),
		expected: eventstore.NoStream,
	}
	defer p.closing.Wait()
	defer p.hangUp()
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	if err := p.proceed(ctx); err != nil {
		return nil, err
	}
	p.hangUp()
	return p.state.Abort, p.conclude(ctx)
}

// enter brings the match to where it stands: started, or folded from the log
// and claimed. A match of the log is claimed before anyone is dialled.
func (p *play) enter(ctx context.Context) error {
	if err := p.load(ctx); err != nil || p.state.Over() {
		return err
	}
	if err := p.acquaint(ctx); err != nil {
		return err
	}
	if p.expected == eventstore.NoStream {
		return p.start(ctx)
	}
	if err := p.append(ctx, []match.Event{match.Claimed{Player: p.config.Player}}); err != nil {
		return err
	}
	p.arrange(nil)
	p.dialAll(ctx)
	p.log().Info("match goes on", "turn", p.state.Game.Turn, "played", p.played)
	return nil
}

// proceed asks and settles batch after batch until the match is over.
func (p *play) proceed(ctx context.Context) error {
	wall := time.Duration(p.state.Started.Deadlines.WallMs) * time.Millisecond
	for !p.state.Over() {
		events, err := p.turn(ctx, wall-p.played)
		if err != nil {
			return err
		}
		if err := p.append(ctx, events); err != nil {
			return err
		}
	}
	return nil
}

// turn returns what comes next: what the open decisions cause, or the abort
// once it was ordered or the wall clock has run out.
func (p *play) turn(ctx context.Context, left time.Duration) ([]match.Event, error) {
	if o, ok := p.orders.given(); ok {
		return p.cancel(o)
	}
	if left <= 0 {
		return p.state.Cancel(match.WallClock)
	}
	began := p.clock.now()
	outcomes, err := p.ask(ctx, began+left)
	p.played += p.clock.now() - began
	switch {
	case errors.Is(err, errWall):
		return p.state.Cancel(match.WallClock)
	case errors.Is(err, errOrdered):
		return p.turn(ctx, left)
	case err != nil:
		return nil, err
	}
	return p.state.Settle(outcomes)
}

// conclude tells the ladder how the match ended.
func (p *play) conclude(ctx context.Context) error {
	var err error
	if end := p.state.End; end != nil {
		err = p.mode.Ladder.Finish(ctx, p.seating.MatchID, p.results(end.Placements))
	} else {
		err = p.mode.Ladder.Void(ctx, p.seating.MatchID, p.state.Abort.Why)
	}
	switch {
	case errors.Is(err, ladder.ErrAlreadyFinished):
		return nil
	case err != nil && ctx.Err() != nil:
		return errStopped
	case err != nil:
		return fmt.Errorf("tell the ladder: %w", err)
	}
	p.log().Info("match over", "why", p.reason(), "turns", p.state.Game.Turn, "played", p.played.Round(time.Millisecond))
	return nil
}

func (p *play) log() *slog.Logger {
	return p.config.Logger.With("match", p.seating.MatchID, "mode", p.seating.Mode)
}

func (p *play) reason() string {
	if p.state.Abort != nil {
		return p.state.Abort.Why
	}
	return p.state.End.Reason
}

// results are the placements, by seat, and misses of the bots.
func (p *play) results(placements []int) []ladder.Result {
	results := make([]ladder.Result, len(placements))
	for i, seat := range p.state.Started.Seats {
		results[i] = ladder.Result{BotID: seat.BotID, Placement: placements[i], Missed: p.state.Missed(i)}
	}
	return results
}

// hangUp begins to close the lines; closing tells when they are.
func (p *play) hangUp() {
	for _, s := range p.seats {
		if line := s.takeLine(); line != nil {
			p.closing.Go(line.Close)
		}
	}
}
