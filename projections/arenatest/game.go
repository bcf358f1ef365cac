package arenatest

import (
	"math"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/match/matchtest"
	"hexarena/eventstore"
)

// Game is a seated match. The field Events contains the events of the match's stream,
// Times contains the times of these events, and State is their fold. The field Used
// contains the time that each seat has used. The field Redial contains the time spent
// redialing each seat in the batch that was settled last. FailedDials contains the
// counts of failed dials in the metadata of the latest append.
type Game struct {
	ladder.Seating
	State  match.Match
	Events []match.Event
	Times  []time.Time
	Used   match.Clocks
	Redial []int64

	FailedDials []int

	arena   *Arena
	players map[int]*player // by seat
}

// Start appends the start of the match and its board.
func (g *Game) Start() {
	g.arena.t.Helper()
	s := match.Seating{
		MatchID: g.MatchID, Mode: g.Mode, Commitment: g.Commitment,
		Table:     match.Table{Revision: g.Revision, Index: g.Index, SeedKey: g.SeedKey},
		Deadlines: match.Deadlines{DecisionMs: 5000, WallMs: 600_000},
	}
	if g.arena.TimeBank {
		s.Deadlines = s.Deadlines.WithBank()
	}
	if !g.arena.Unmeasured {
		g.Used = match.NewClocks(len(g.Bots))
	}
	for _, e := range g.Bots {
		bot := g.arena.bots[e.BotID]
		bot.Mu, bot.Sigma = e.Mu, e.Sigma
		s.Bots = append(s.Bots, bot)
		s.Table.Bots = append(s.Table.Bots, e.BotID)
		s.Nonces = append(s.Nonces, g.arena.Nonce(bot))
	}
	events, err := g.State.Start(s)
	require.NoError(g.arena.t, err)
	g.store(events...)
}

// Step settles the open batch of decisions in one append.
func (g *Game) Step() {
	g.arena.t.Helper()
	var outcomes []match.Outcome
	for _, d := range g.State.Asks() {
		if g.players[d.Seat] == nil {
			g.players[d.Seat] = &player{Player: matchtest.Player{Below: g.arena.rng.IntN, Build: true}, clumsy: d.Seat == 1}
		}
		o := match.Outcome{Cause: match.CauseDropped, RedialMs: 5000, NoLine: true}
		if !g.arena.Dead[g.State.Started.Seats[d.Seat].BotID] {
			o = g.players[d.Seat].answer(&g.State, d)
		}
		o.Decision, o.UsedMs = d.ID, o.ElapsedMs+o.RedialMs
		outcomes = append(outcomes, o)
	}
	g.charge(outcomes)
	g.FailedDials = g.State.CountFailedDials(g.FailedDials, outcomes)
	events, err := g.State.Settle(outcomes)
	require.NoError(g.arena.t, err)
	g.store(events...)
}

// charge adds the time of a batch to Used.
func (g *Game) charge(outcomes []match.Outcome) {
	g.Redial = nil
	if g.Used == nil {
		return
	}
	for i, d := range g.State.Asks() {
		if ms := outcomes[i].RedialMs; ms > 0 {
			if g.Redial == nil {
				g.Redial = make([]int64, len(g.Used))
			}
			g.Redial[d.Seat] = ms
		}
	}
	g.Used = g.State.Charge(g.Used, outcomes)
}

// Play settles batches until a turn has begun or the match is over.
func (g *Game) Play(turn uint16) {
	g.arena.t.Helper()
	for !g.State.Over() && g.State.Game.Turn < turn {
		g.Step()
	}
}

// PlayOut settles batches until the match is over. It appends nothing to the
// ladder.
func (g *Game) PlayOut() {
	g.arena.t.Helper()
	g.Play(math.MaxUint16)
}

// Claim appends the event with which another referee takes over the match. This event is
// not public.
func (g *Game) Claim() {
	g.arena.t.Helper()
	g.Redial = nil
	g.store(match.Claimed{Player: "another"})
}

// Abort aborts the match. It appends nothing to the ladder.
func (g *Game) Abort(why string) {
	g.arena.t.Helper()
	events, err := g.State.Cancel(why)
	require.NoError(g.arena.t, err)
	g.Redial = nil
	g.store(events...)
}

// Conclude appends the ladder's event for a match that is over.
func (g *Game) Conclude() {
	g.arena.t.Helper()
	if g.State.Abort != nil {
		g.Void(g.State.Abort.Why)
		return
	}
	var results []ladder.Result
	for seat, s := range g.State.Started.Seats {
		results = append(results, ladder.Result{BotID: s.BotID, Placement: g.State.End.Placements[seat], Missed: g.State.Missed(seat)})
	}
	events, err := g.arena.ladder(g.Mode).Finish(g.MatchID, results)
	require.NoError(g.arena.t, err)
	g.arena.evolve(g.Mode, events...)
}

// Void appends MatchVoided to the ladder. The match may be in any state.
func (g *Game) Void(why string) {
	g.arena.t.Helper()
	events, err := g.arena.ladder(g.Mode).Void(g.MatchID, why)
	require.NoError(g.arena.t, err)
	g.arena.evolve(g.Mode, events...)
}

// store appends events to the match's stream and folds them.
func (g *Game) store(events ...match.Event) {
	g.arena.t.Helper()
	g.State = match.EvolveAll(g.State, events)
	turns, openings := g.State.Closing()
	at := storeWith(g.arena, match.Stream(g.MatchID), eventstore.Metadata{Turns: turns, OpeningPips: openings, UsedMs: g.Used, RedialMs: g.Redial, FailedDials: g.FailedDials}, events...)
	for _, e := range events {
		g.Events = append(g.Events, e)
		g.Times = append(g.Times, at)
	}
}
