package export

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/domain/stats"
	"hexarena/eventstore"
	"hexarena/projections/frames"
	"hexarena/projections/matchcollector"
	"hexarena/projections/matches"
)

// readMatch returns the rows of an ended match. If the ladder voided the match
// before it started or before its stream ended, the match has no rows and readMatch
// returns nil.
func readMatch(ctx context.Context, log eventstore.Log, e ending, known *owners) (*rows, error) {
	if e.match == nil {
		var err error
		if e.match, err = matchcollector.Read(ctx, log, e.matchID); err != nil {
			return nil, err
		}
	}
	switch {
	case e.match == nil && e.rated == nil:
		return nil, nil
	case e.match == nil:
		return nil, fmt.Errorf("match %s is rated by %s@%d, but the match's stream has no end event", e.matchID, e.event.Stream, e.event.Revision)
	}
	h, err := frames.Decode(e.match)
	if err != nil {
		return nil, err
	}
	r, err := rowsOf(e, &h)
	if err != nil {
		return nil, err
	}
	return r, known.leaveOut(ctx, r)
}

// builder builds the rows of one match, event by event.
type builder struct {
	*rows
	match Match
	last  [game.MaxSeats]int // for each seat, the index of its latest decision, plus one
}

func rowsOf(e ending, h *frames.History) (*rows, error) {
	b := &builder{rows: &rows{stored: len(h.Events) + 1}}
	b.begin(e, h)
	for i, event := range h.Events {
		if err := b.add(event, instantOf(h.Times[i])); err != nil {
			return nil, fmt.Errorf("match %s: %w", e.matchID, err)
		}
	}
	b.match.Decisions = int32(len(b.decisions))
	b.matches = []Match{b.match}
	for i, ms := range h.ThinkingMs() {
		b.seats[i].ThinkingMs = ms
	}
	b.count(stats.Of(h.Started, h.Events))
	b.rate(e)
	return b.rows, nil
}

// begin sets the columns that depend on the start and the end of a match.
func (b *builder) begin(e ending, h *frames.History) {
	started := h.Started
	b.match = Match{
		MatchID: e.matchID, Mode: started.Mode, Position: int64(e.event.Position), Status: matches.Completed, Rules: int32(started.Rules), Seats: int32(len(started.Seats)),
		StartedAt: instantOf(h.Times[0]), EndedAt: instantOf(h.Times[len(h.Times)-1]),
		Commitment: started.Commitment.String(), Seed: h.Seed.String(), ServerSeed: h.Proof.ServerSeed.String(), SeedKey: started.Table.SeedKey,
	}
	if e.rated == nil {
		b.match.Status, b.match.Reason = matches.Aborted, e.why
	}
	for i, s := range started.Seats {
		seat := Seat{MatchID: e.matchID, Seat: int32(i), BotID: s.BotID, BotName: s.BotName, OwnerID: s.OwnerID, Version: &s.Version}
		if at := slices.Index(started.Table.Bots, s.BotID); at >= 0 && at < len(started.Nonces) {
			seat.Nonce = started.Nonces[at]
		}
		b.seats = append(b.seats, seat)
	}
	b.events, b.decisions = make([]Event, 0, len(h.Events)), make([]Decision, 0, len(h.Events))
}

// count sets the columns that docs/statistics.md defines.
func (b *builder) count(m stats.Match) {
	for i, s := range m.Seats {
		row, pips := &b.seats[i], int32(0)
		for _, p := range s.Opening {
			pips += int32(p.Pips)
		}
		row.Received, row.Expected36, row.Blocked = new(int32(s.Received.Sum())), new(int32(s.Expected36.Sum())), new(int32(s.Blocked.Sum()))
		row.Discarded, row.Stole, row.Stolen, row.OpeningPips = new(int32(s.Discarded)), new(int32(s.Stole)), new(int32(s.Stolen)), &pips
	}
}

// rate sets the columns that depend on the ladder's event.
func (b *builder) rate(e ending) {
	for _, r := range e.rated {
		b.ratingChanges = append(b.ratingChanges, RatingChange{
			MatchID: e.matchID, Mode: b.match.Mode, Position: b.match.Position, EndedAt: b.match.EndedAt, BotID: r.BotID, Placement: int32(r.Placement),
			MuBefore: r.Before.Mu, SigmaBefore: r.Before.Sigma, MuAfter: r.After.Mu, SigmaAfter: r.After.Sigma,
			RatingBefore: r.Before.Displayed(), RatingAfter: r.After.Displayed(),
		})
		if i := slices.IndexFunc(b.seats, func(s Seat) bool { return s.BotID == r.BotID }); i >= 0 {
			b.seats[i].Placement, b.seats[i].Missed = new(int32(r.Placement)), &r.Missed
		}
	}
}

// add adds the rows of an event.
func (b *builder) add(e match.Event, at instant) error {
	if roll, ok := e.(match.DiceRolled); ok {
		b.match.Turns = int32(roll.Turn)
	}
	if kind, seat, data := match.Publish(e); kind != "" {
		text, err := json.Marshal(data)
		if err != nil {
			return err
		}
		b.match.Events++
		row := Event{MatchID: b.match.MatchID, Seq: b.match.Events, At: at, Turn: b.match.Turns, Kind: kind, Data: object(text)}
		if seat != nil {
			row.Seat = new(int32(*seat))
		}
		b.events = append(b.events, row)
	}
	switch e := e.(type) {
	case match.DecisionTimedOut:
		b.decide(e.Seat, Decision{Decision: int32(e.Decision), At: at, Kind: e.Kind, Outcome: frames.Timeout, Cause: &e.Cause, ElapsedMs: e.ElapsedMs, Answer: e.Answer, Action: "null"})
		b.seats[e.Seat].Strikes = int32(e.Strikes)
	case match.AnswerRejected:
		b.decide(e.Seat, Decision{Decision: int32(e.Decision), At: at, Kind: e.Kind, Outcome: frames.Illegal, Reason: &e.Reason, ElapsedMs: e.ElapsedMs, Answer: &e.Answer, Action: "null"})
		b.seats[e.Seat].Strikes = int32(e.Strikes)
	case match.ActionPlayed:
		b.act(e, at)
	case match.TradeExecuted:
		b.trade(e, at)
	case match.SeatResigned:
		b.seats[e.Seat].Resigned = true
	case match.GameEnded:
		b.match.Reason = e.Reason
		for i, points := range e.Scores {
			b.seats[i].Score = new(int32(points))
		}
	}
	return nil
}

// decide adds the row of a decision that the latest public event closed.
func (b *builder) decide(seat int, d Decision) {
	d.MatchID, d.Seat, d.Seq, d.Turn = b.match.MatchID, int32(seat), b.match.Events, b.match.Turns
	b.decisions = append(b.decisions, d)
	b.last[seat] = len(b.decisions)
	b.seats[seat].Decisions++
}

// act adds the row of an answered decision, with its action. If the decision failed,
// its row already exists, and the method sets the default action in that row. The
// actions of a resigned seat do not belong to decisions, because the arena sends
// requests only to seats that have not resigned.
func (b *builder) act(e match.ActionPlayed, at instant) {
	if n := b.last[e.Seat]; n > 0 && b.decisions[n-1].Decision == int32(e.Decision) {
		b.decisions[n-1].Action = object(e.Action)
		return
	}
	if e.ElapsedMs != nil {
		b.decide(e.Seat, Decision{Decision: int32(e.Decision), At: at, Kind: e.Kind, Outcome: frames.Played, ElapsedMs: *e.ElapsedMs, Action: object(e.Action)})
	}
}

func (b *builder) trade(e match.TradeExecuted, at instant) {
	give, get := e.Give, e.Get
	b.trades = append(b.trades, Trade{
		MatchID: b.match.MatchID, Seq: b.match.Events, At: at, Turn: b.match.Turns, From: int32(e.From), To: int32(e.To),
		GiveBrick: int32(give[board.Brick]), GiveLumber: int32(give[board.Lumber]), GiveWool: int32(give[board.Wool]), GiveGrain: int32(give[board.Grain]), GiveOre: int32(give[board.Ore]),
		GetBrick: int32(get[board.Brick]), GetLumber: int32(get[board.Lumber]), GetWool: int32(get[board.Wool]), GetGrain: int32(get[board.Grain]), GetOre: int32(get[board.Ore]),
	})
}
