package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"hexarena/cmd/arena/progress"
	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/domain/seed"
	"hexarena/eventstore"
)

// simulatedDay plays whole matches into a log, by their rules, and rates them.
// Tables play side by side, as they do: what one stores stands between what
// others store. It is for one goroutine.
type simulatedDay struct {
	log      eventstore.Log
	ladder   ladder.Ladder
	expected eventstore.Expected // of the ladder's stream
	bots     []ladder.Candidate
	names    map[string]match.Seat
	now      time.Time
	played   int
}

const (
	// dayGroup is how many tables play side by side at most; of more, groups
	// follow one another.
	dayGroup = 250
	// dayAppend is how many events a match stores at a time: some turns.
	dayAppend = 16
)

// dayModes are the modes' clocks, and the time from one match of a table to its
// next at the least: a rest, and of standard half a minute for the tick and the
// match itself, whose bots answer at once.
var dayModes = map[string]struct {
	pace      time.Duration
	deadlines match.Deadlines
}{
	ladder.Standard: {340 * time.Second, match.Deadlines{DecisionMs: 5000, WallMs: 600_000}},
	ladder.Parley:   {time.Hour, match.Deadlines{DecisionMs: 60_000, WallMs: 10_800_000}},
}

func newSimulatedDay(log eventstore.Log, mode string, tables int) *simulatedDay {
	d := &simulatedDay{log: log, ladder: ladder.New(mode), expected: eventstore.NoStream, names: map[string]match.Seat{}, now: time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC)}
	for i := range 4 * tables {
		id := uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, "bot ", i)).String()
		d.bots = append(d.bots, ladder.Candidate{BotID: id, Registered: d.now})
		d.names[id] = match.Seat{BotID: id, BotName: fmt.Sprintf("Bot %d", i), OwnerID: uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, "owner ", i/5)).String()}
	}
	return d
}

// play plays so many matches at each table.
func (d *simulatedDay) play(ctx context.Context, matches int, p *progress.Display) error {
	total := uint64(matches * len(d.bots) / 4)
	for range matches {
		events, err := d.ladder.Seat(d.bots, ladder.Tick{Now: d.now, PlatformKey: "bench", SeedKeyID: "bench", SeedKey: seedKey})
		if err != nil {
			return err
		}
		if err := d.store(ctx, events...); err != nil {
			return err
		}
		open := d.ladder.Unfinished()
		for len(open) > 0 {
			n := min(dayGroup, len(open))
			if err := d.playGroup(ctx, open[:n]); err != nil {
				return err
			}
			open = open[n:]
			p.Show("playing matches", uint64(d.played), total)
		}
		d.now = d.now.Add(dayModes[d.ladder.Mode()].pace)
	}
	return nil
}

// store appends events of the ladder.
func (d *simulatedDay) store(ctx context.Context, events ...ladder.Event) error {
	encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{At: d.now, Correlation: "bench"})
	if err != nil {
		return err
	}
	stored, err := d.log.Append(ctx, eventstore.StreamID(ladder.Stream(d.ladder.Mode())), d.expected, encoded...)
	if err != nil {
		return err
	}
	d.expected = eventstore.At(stored.Revision)
	for _, e := range events {
		d.ladder = ladder.Evolve(d.ladder, e, d.now)
	}
	return nil
}

// playGroup plays matches side by side, and rates each.
func (d *simulatedDay) playGroup(ctx context.Context, open []ladder.Seating) error {
	games := make([]*dayGame, len(open))
	err := inParallel(ctx, 4, len(open), func(_ context.Context, i int) (err error) {
		games[i], err = d.simulate(open[i])
		return err
	})
	for on := true; on && err == nil; {
		on = false
		for _, g := range games {
			on = on || len(g.left) > dayAppend
		}
		err = inParallel(ctx, historyWriters, len(games), func(ctx context.Context, i int) error { return games[i].storeSome(ctx, d.log) })
	}
	for i := 0; i < len(games) && err == nil; i++ {
		var rated []ladder.Event
		if rated, err = d.ladder.Finish(games[i].id, games[i].results()); err == nil {
			err = d.store(ctx, rated...)
		}
		d.played++
	}
	return err
}

// dayGame is a match that was played, and what of it is not stored yet.
type dayGame struct {
	loggedGame
	left []eventstore.Event
}

// simulate plays a match to its end.
func (d *simulatedDay) simulate(s ladder.Seating) (*dayGame, error) {
	chance := seed.Server(seedKey, s.MatchID)
	g := &dayGame{loggedGame: loggedGame{id: s.MatchID, state: match.New(chance), expected: eventstore.NoStream, rng: rand.New(rand.NewPCG(uint64(chance[0])<<8|uint64(chance[1]), s.Revision))}}
	seating := match.Seating{
		MatchID: s.MatchID, Mode: s.Mode, Commitment: s.Commitment, Table: match.Table{Revision: s.Revision, Index: s.Index, SeedKey: s.SeedKey},
		Deadlines: dayModes[s.Mode].deadlines,
	}
	for _, e := range s.Bots {
		seat := d.names[e.BotID]
		seat.Mu, seat.Sigma = e.Mu, e.Sigma
		seating.Bots, seating.Table.Bots, seating.Nonces = append(seating.Bots, seat), append(seating.Table.Bots, e.BotID), append(seating.Nonces, "")
	}
	events, err := g.state.Start(seating)
	for at := d.now; err == nil && len(events) > 0; {
		g.fold(events)
		at = at.Add(time.Duration(20+g.rng.IntN(40)) * time.Millisecond)
		playedMs := at.Sub(d.now).Milliseconds()
		var encoded []eventstore.Event
		if encoded, err = eventstore.EncodeAll(events, eventstore.Metadata{At: at, PlayedMs: &playedMs, Correlation: g.id}); err != nil {
			break
		}
		g.left = append(g.left, encoded...)
		if events = nil; !g.state.Over() {
			events, err = g.bargain()
		}
	}
	return g, err
}

// bargain is decide by bots that offer trades too, and take some.
func (g *dayGame) bargain() ([]match.Event, error) {
	var outcomes []match.Outcome
	for _, d := range g.state.Asks() {
		action, ok := g.trade(uint8(d.Seat), d.Kind)
		if !ok {
			action = match.ActionJSON(g.answer(uint8(d.Seat), d.Kind))
		}
		outcomes = append(outcomes, match.Outcome{Decision: d.ID, Frame: matchtest.Frame(d.ID, action), ElapsedMs: 1 + g.rng.Int64N(400)})
	}
	return g.state.Settle(outcomes)
}

// trade offers one card for another now and then, and accepts every second
// offer that it can pay for.
func (g *dayGame) trade(seat uint8, kind game.Kind) (action []byte, ok bool) {
	a := game.Action{Type: game.OfferTrade, To: board.None}
	switch {
	case kind == game.KindTrade && g.rng.IntN(2) == 0:
		a = game.Action{Type: game.Respond, Accept: true}
	case kind == game.KindTurn && g.rng.IntN(3) == 0:
		a.Giving[g.rng.IntN(board.Resources)]++
		a.Taking[g.rng.IntN(board.Resources)]++
	default:
		return nil, false
	}
	if g.state.Game.Check(seat, a) != nil {
		return nil, false
	}
	action = match.ActionJSON(a)
	if kind == game.KindTurn {
		action = matchtest.WithTalk(action, fmt.Sprintf("turn %d: who trades?", g.state.Game.Turn))
	}
	return action, true
}

// storeSome appends the next events.
func (g *dayGame) storeSome(ctx context.Context, log eventstore.Log) error {
	n := min(dayAppend, len(g.left))
	if n == 0 {
		return nil
	}
	stored, err := log.Append(ctx, eventstore.StreamID(match.Stream(g.id)), g.expected, g.left[:n]...)
	if err == nil {
		g.expected, g.left = eventstore.At(stored.Revision), g.left[n:]
	}
	return err
}

func (g *dayGame) results() []ladder.Result {
	results := make([]ladder.Result, len(g.state.Started.Seats))
	for i, s := range g.state.Started.Seats {
		results[i] = ladder.Result{BotID: s.BotID, Placement: g.state.End.Placements[i]}
	}
	return results
}
