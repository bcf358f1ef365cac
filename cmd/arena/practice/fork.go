package practice

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/referee"
	"hexarena/cmd/arena/progress"
	"hexarena/cmd/arena/records"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/domain/seed"
	"hexarena/domain/tournament"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/frames"
)

type forkCmd struct {
	Match      string        `arg:"" placeholder:"MATCH" help:"An ended match: a file or a folder with its record, its id, or its URL at an arena."`
	At         int           `required:"" placeholder:"SEQ" help:"The number of an event. The match is played again from the decisions that led to this event."`
	Seat       []int         `required:"" placeholder:"N" help:"The seat of the bot that --bot names. Repeat both flags for more bots."`
	Bot        []string      `required:"" sep:"none" placeholder:"BOT" help:"The bot that plays on: a URL, house:NAME for a house bot, or cmd:COMMAND for a program that listens on {port}."`
	Others     []string      `sep:"none" placeholder:"BOT" help:"The bot at the other seats, or one for each of them, in the order of the seats (default: house:greedy)."`
	Matches    int           `short:"n" help:"The number of continuations (default: 100, or 1 with --same-chance)."`
	SameChance bool          `help:"Keep the dice, the deck and the steals of the match, instead of fresh ones in each continuation."`
	Parallel   int           `help:"How many continuations to play at the same time (default: the number of cores)."`
	Decision   time.Duration `help:"Time for one decision (default: that of the mode, 5s or 60s)."`
	Wall       time.Duration `help:"Playing time after which a continuation is aborted (default: that of the mode, 10m or 180m)."`
	Seed       string        `help:"Any text, from which the fresh chance follows (default: a random text, which is printed)."`
	JSON       bool          `name:"json" help:"Print one JSON object."`

	records.Source
}

// Validate checks the flags. The flag parser calls it.
func (c *forkCmd) Validate() error {
	switch {
	case c.At < 1:
		return errors.New("--at must be above 0: events count from 1")
	case len(c.Seat) != len(c.Bot):
		return fmt.Errorf("each --seat needs a --bot: there are %d seats and %d bots", len(c.Seat), len(c.Bot))
	case c.Matches < 0 || c.Parallel < 0:
		return errors.New("--matches and --parallel must be above 0")
	case c.Decision < 0 || c.Wall < 0:
		return errors.New("--decision and --wall must be above 0")
	case c.SameChance && c.Seed != "":
		return errors.New("--seed cannot be combined with --same-chance, which keeps the seed of the match")
	}
	for _, spec := range append(c.Bot, c.Others...) {
		if _, err := parseBot(spec); err != nil {
			return err
		}
	}
	return c.Check(c.Match)
}

// Run plays the continuations, and compares them with the match. If ctx ends first, it
// prints the result of the continuations that have ended.
func (c *forkCmd) Run(ctx context.Context, k *kong.Kong) error {
	p, err := onePast(ctx, k, c.Source, c.Match)
	if err != nil {
		return err
	}
	run, err := c.prepare(p)
	if err != nil {
		return err
	}
	if err := reachable(ctx, run.bots); err != nil {
		return err
	}
	err = run.play(ctx, k.Stderr)
	report := run.report(ctx.Err() != nil)
	if err != nil && ctx.Err() == nil && report.Continuations+report.Aborted == 0 {
		return err
	}
	if printErr := report.print(k.Stdout, c.JSON); printErr != nil {
		return printErr
	}
	if ctx.Err() != nil {
		return fmt.Errorf("stopped after %d of %d continuations", report.Continuations+report.Aborted, report.Planned)
	}
	return err
}

// forkRun is one run of the command.
type forkRun struct {
	series

	past   *past
	at     int           // as the flag names it
	before []match.Event // the events of the past match that every continuation has
	state  match.Match   // after them, with the ids and the chance of the past match
	same   bool          // whether a continuation has the chance of the past match
	forked []bool        // by seat: whether --seat names it

	earlier [][]match.Request // by seat: the requests before the fork

	mu       sync.Mutex // guards the fields below
	rows     *tournament.Standings
	outcomes []tournament.Outcome // in the order in which they ended
	took     time.Duration
}

func (c *forkCmd) prepare(p *past) (*forkRun, error) {
	r := &forkRun{past: p, at: c.At, same: c.SameChance}
	if err := r.rewind(); err != nil {
		return nil, err
	}
	if err := c.seatBots(r); err != nil {
		return nil, err
	}
	decision, wall := ladder.Clocks(p.started.Mode)
	count := 100
	if c.SameChance {
		count = 1
	}
	r.mode, r.decision, r.wall = p.started.Mode, cmp.Or(c.Decision, decision), cmp.Or(c.Wall, wall)
	r.plan = tournament.Plan{Bots: len(r.bots), Blocks: cmp.Or(c.Matches, count), Seed: c.Seed}
	if r.plan.Seed == "" && !c.SameChance {
		r.plan.Seed = strings.ToLower(crand.Text()[:10])
	}
	r.parallel = min(cmp.Or(c.Parallel, runtime.NumCPU()), r.plan.Matches())
	r.logger, r.starter = slog.New(slog.DiscardHandler), &starter{restarts: make([]atomic.Int64, len(r.bots))}
	r.rows = tournament.NewStandings(len(r.bots))
	for seat := range r.bots {
		r.earlier = append(r.earlier, r.requestsBefore(seat))
	}
	return r, nil
}

// rewind finds the batch of decisions that led to the event, and restores the state
// before it.
func (r *forkRun) rewind() error {
	p, last := r.past, len(r.past.events)
	if p.aborted {
		last++ // an aborted match can be played on from its end
	}
	if r.at > last {
		return fmt.Errorf("--at %d: match %s has the events 1 to %d", r.at, p.started.MatchID, len(p.events))
	}
	starts := match.BatchStarts(p.begin(), p.events)
	if len(starts) == 0 {
		return fmt.Errorf("no decision of match %s can be played again", p.started.MatchID)
	}
	from := starts[0]
	for _, start := range starts {
		if start < r.at {
			from = start
		}
	}
	r.before = p.events[:from]
	r.state = match.EvolveAll(p.begin(), r.before)
	return nil
}

// seatBots chooses the bot of each seat. The bots get the ids of the bots in the past
// match, because the events before the fork contain these ids.
func (c *forkCmd) seatBots(r *forkRun) error {
	seats := r.past.started.Seats
	specs := make([]string, len(seats))
	r.forked = make([]bool, len(seats))
	for i, seat := range c.Seat {
		if err := r.past.checkSeat(seat); err != nil {
			return fmt.Errorf("--seat %d: %w", seat, err)
		}
		switch {
		case r.forked[seat]:
			return fmt.Errorf("--seat %d is named twice", seat)
		case r.state.Resigned[seat]:
			return fmt.Errorf("--seat %d: the seat had resigned before event %d; choose an earlier event", seat, r.at)
		}
		specs[seat], r.forked[seat] = c.Bot[i], true
	}
	others := c.Others
	if len(others) == 0 {
		others = []string{"house:greedy"}
	}
	switch left := len(seats) - len(c.Seat); {
	case left == 0 && len(c.Others) > 0:
		return errors.New("--others: --seat names all seats, so no other seat is left")
	case len(others) > 1 && len(others) != left:
		return fmt.Errorf("--others: there are %d other seats, so name 1 or %d bots, not %d", left, left, len(others))
	}
	next := 0
	for seat := range specs {
		if !r.forked[seat] {
			specs[seat] = others[next%len(others)]
			next++
		}
	}
	var err error
	if r.bots, err = parseBots(specs); err != nil {
		return err
	}
	for seat := range r.bots {
		r.bots[seat].id = seats[seat].BotID
	}
	return nil
}

// play plays all continuations.
func (r *forkRun) play(ctx context.Context, errOut io.Writer) error {
	p := progress.New(errOut, "continuations")
	defer p.Finish()
	begun := time.Now()
	defer func() { r.took = time.Since(begun) }()
	return inTurn(ctx, r.parallel, func(number int) (job, func()) {
		w := r.newWorker(number)
		return func(ctx context.Context, n int) (bool, error) {
			if n >= r.plan.Matches() {
				return false, nil
			}
			err := ready(ctx, w.processes)
			if err != nil {
				return true, err
			}
			m := r.continuation(n)
			events, err := r.playOn(ctx, m, w.dial)
			if err == nil {
				r.add(tournament.OutcomeOf(m, events), p)
			}
			return true, err
		}, w.close
	})
}

func (r *forkRun) add(o tournament.Outcome, p *progress.Display) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows.Add(o)
	r.outcomes = append(r.outcomes, o)
	p.Show("fork", uint64(len(r.outcomes)), uint64(r.plan.Matches()))
}

// continuation returns the continuation with a number. Its server seed is the fresh
// chance. Each has its own match id, because a bot may play several at the same time.
// Only the first one with the same chance keeps the id, so that a bot whose random
// choices follow from the match id repeats them.
func (r *forkRun) continuation(n int) tournament.Match {
	m := r.plan.Match(n)
	for seat := range m.Seats {
		m.Seats[seat] = seat
	}
	m.ID = ladder.NameUUID(fmt.Sprintf("hexarena:practice:fork:%s:%d:%s:%d", r.past.started.MatchID, len(r.before), r.plan.Seed, n))
	if r.same {
		m.Server = r.past.proof.ServerSeed
		if n == 0 {
			m.ID = r.past.started.MatchID
		}
	}
	return m
}

// playOn plays one continuation, and returns its events after the fork. A referee
// resumes the match, as after a restart of an arena, from a log that contains the events
// before the fork. First, the bots get the requests before the fork.
func (r *forkRun) playOn(ctx context.Context, m tournament.Match, dial dialMatch) ([]match.Event, error) {
	log := memory.New()
	started := r.past.started
	started.MatchID = m.ID
	started.Deadlines = match.Deadlines{DecisionMs: r.decision.Milliseconds(), WallMs: r.wall.Milliseconds()}
	started.Seats = make([]match.Seat, len(r.bots))
	for seat := range r.bots {
		started.Seats[seat] = r.bots[seat].seat()
	}
	stored, err := eventstore.EncodeAll(append([]match.Event{started}, r.before...), eventstore.Metadata{
		At: time.Now(), PlayedMs: new(int64), UsedMs: match.NewClocks(len(r.bots)), Correlation: m.ID,
	})
	if err != nil {
		return nil, err
	}
	if _, err := log.Append(ctx, eventstore.StreamID(match.Stream(m.ID)), eventstore.NoStream, stored...); err != nil {
		return nil, err
	}
	s := ladder.Seating{
		MatchID: m.ID, Mode: r.mode, Revision: started.Table.Revision, Index: started.Table.Index, SeedKey: started.Table.SeedKey,
		Commitment: started.Commitment, SeatedAt: time.Now(),
	}
	for _, id := range started.Table.Bots {
		s.Bots = append(s.Bots, ladder.Entrant{BotID: id, Rating: rating.New()})
	}
	held := r.remind(ctx, m, dial)
	defer func() {
		for _, h := range held {
			h.close()
		}
	}()
	w, dial := worker{series: &r.series}, r.takeOver(held, dial)
	options := w.options(log, m, func(context.Context, ladder.Seating) (seed.Seed, error) { return r.past.proof.ServerSeed, nil }, dial)
	if !r.same {
		options.Resume = func(state match.Match) match.Match {
			state.Game.Reseed(m.Server)
			return state
		}
	}
	if err := referee.New(options).PlayOut(ctx, s); err != nil {
		return nil, fmt.Errorf("continuation %d: %w", m.Number+1, err)
	}
	h, err := frames.Read(ctx, log, m.ID)
	if err != nil {
		return nil, err
	}
	return h.Events[len(r.before):], nil
}
