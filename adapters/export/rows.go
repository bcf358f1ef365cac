package export

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"hexarena/domain/board"
	"hexarena/domain/game"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections/frames"
	"hexarena/projections/matchcollector"
)

// The status of a match.
const (
	completed = "completed"
	aborted   = "aborted"
)

// readMatch reads an ended match. It is nil where there is nothing to tell: the
// ladder gave up one that never began, or whose stream does not end.
func readMatch(ctx context.Context, log eventstore.Log, e ending) (*rows, error) {
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
		return nil, fmt.Errorf("match %s is rated by %s@%d, and its stream does not end", e.matchID, e.event.Stream, e.event.Revision)
	}
	h, err := frames.Decode(e.match)
	if err != nil {
		return nil, err
	}
	return rowsOf(e, &h)
}

// maker makes the rows of one match, event by event.
type maker struct {
	*rows
	match Match
	last  [game.MaxSeats]int // the seat's latest decision: its index and one
}

func rowsOf(e ending, h *frames.History) (*rows, error) {
	m := &maker{rows: &rows{stored: len(h.Events) + 1}}
	m.begin(e, h)
	for i, event := range h.Events {
		if err := m.add(event, instantOf(h.Times[i])); err != nil {
			return nil, fmt.Errorf("match %s: %w", e.matchID, err)
		}
	}
	m.match.Decisions = int32(len(m.decisions))
	m.matches = []Match{m.match}
	for i, ms := range h.ThinkingMs() {
		m.seats[i].ThinkingMs = ms
	}
	m.rate(e)
	return m.rows, nil
}

// begin fills what the start and the end of a match tell.
func (m *maker) begin(e ending, h *frames.History) {
	started := h.Started
	m.match = Match{
		MatchID: e.matchID, Mode: started.Mode, Position: int64(e.event.Position), Status: completed, Rules: int32(started.Rules), Seats: int32(len(started.Seats)),
		StartedAt: instantOf(h.Times[0]), EndedAt: instantOf(h.Times[len(h.Times)-1]),
		Commitment: started.Commitment.String(), Seed: h.Seed.String(), ServerSeed: h.Proof.ServerSeed.String(), SeedKey: started.Table.SeedKey,
	}
	if e.rated == nil {
		m.match.Status, m.match.Reason = aborted, e.why
	}
	for i, s := range started.Seats {
		seat := Seat{MatchID: e.matchID, Seat: int32(i), BotID: s.BotID, BotName: s.BotName, OwnerID: s.OwnerID}
		if at := slices.Index(started.Table.Bots, s.BotID); at >= 0 && at < len(started.Nonces) {
			seat.Nonce = started.Nonces[at]
		}
		m.seats = append(m.seats, seat)
	}
	m.events, m.decisions = make([]Event, 0, len(h.Events)), make([]Decision, 0, len(h.Events))
}

// rate fills what the ladder's event tells.
func (m *maker) rate(e ending) {
	for _, r := range e.rated {
		m.ratingChanges = append(m.ratingChanges, RatingChange{
			MatchID: e.matchID, Mode: m.match.Mode, Position: m.match.Position, EndedAt: m.match.EndedAt, BotID: r.BotID, Placement: int32(r.Placement),
			MuBefore: r.Before.Mu, SigmaBefore: r.Before.Sigma, MuAfter: r.After.Mu, SigmaAfter: r.After.Sigma,
			RatingBefore: r.Before.Displayed(), RatingAfter: r.After.Displayed(),
		})
		if i := slices.IndexFunc(m.seats, func(s Seat) bool { return s.BotID == r.BotID }); i >= 0 {
			placement := int32(r.Placement)
			m.seats[i].Placement, m.seats[i].Missed = &placement, &r.Missed
		}
	}
}

// add adds the rows of an event.
func (m *maker) add(e match.Event, at instant) error {
	if roll, ok := e.(match.DiceRolled); ok {
		m.match.Turns = int32(roll.Turn)
	}
	if kind, seat, data := match.Publish(e); kind != "" {
		text, err := json.Marshal(data)
		if err != nil {
			return err
		}
		m.match.Events++
		row := Event{MatchID: m.match.MatchID, Seq: m.match.Events, At: at, Turn: m.match.Turns, Kind: kind, Data: object(text)}
		if seat != nil {
			n := int32(*seat)
			row.Seat = &n
		}
		m.events = append(m.events, row)
	}
	switch e := e.(type) {
	case match.DecisionTimedOut:
		m.decide(e.Seat, Decision{Decision: int32(e.Decision), At: at, Kind: e.Kind, Outcome: frames.Timeout, Cause: &e.Cause, ElapsedMs: e.ElapsedMs, Answer: e.Answer, Action: "null"})
		m.seats[e.Seat].Strikes = int32(e.Strikes)
	case match.AnswerRejected:
		m.decide(e.Seat, Decision{Decision: int32(e.Decision), At: at, Kind: e.Kind, Outcome: frames.Illegal, Reason: &e.Reason, ElapsedMs: e.ElapsedMs, Answer: &e.Answer, Action: "null"})
		m.seats[e.Seat].Strikes = int32(e.Strikes)
	case match.ActionPlayed:
		m.act(e, at)
	case match.TradeExecuted:
		m.trade(e, at)
	case match.SeatResigned:
		m.seats[e.Seat].Resigned = true
	case match.GameEnded:
		m.match.Reason = e.Reason
		for i, points := range e.Scores {
			score := int32(points)
			m.seats[i].Score = &score
		}
	}
	return nil
}

// decide adds a decision that the latest public event has closed.
func (m *maker) decide(seat int, d Decision) {
	d.MatchID, d.Seat, d.Seq, d.Turn = m.match.MatchID, int32(seat), m.match.Events, m.match.Turns
	m.decisions = append(m.decisions, d)
	m.last[seat] = len(m.decisions)
	m.seats[seat].Decisions++
}

// act closes a decision by an answer, or says what was played in place of one.
// What a seat that has resigned plays, nobody asked it for.
func (m *maker) act(e match.ActionPlayed, at instant) {
	if n := m.last[e.Seat]; n > 0 && m.decisions[n-1].Decision == int32(e.Decision) {
		m.decisions[n-1].Action = object(e.Action)
		return
	}
	if e.ElapsedMs != nil {
		m.decide(e.Seat, Decision{Decision: int32(e.Decision), At: at, Kind: e.Kind, Outcome: frames.Played, ElapsedMs: *e.ElapsedMs, Action: object(e.Action)})
	}
}

func (m *maker) trade(e match.TradeExecuted, at instant) {
	give, get := e.Give, e.Get
	m.trades = append(m.trades, Trade{
		MatchID: m.match.MatchID, Seq: m.match.Events, At: at, Turn: m.match.Turns, From: int32(e.From), To: int32(e.To),
		GiveBrick: int32(give[board.Brick]), GiveLumber: int32(give[board.Lumber]), GiveWool: int32(give[board.Wool]), GiveGrain: int32(give[board.Grain]), GiveOre: int32(give[board.Ore]),
		GetBrick: int32(get[board.Brick]), GetLumber: int32(get[board.Lumber]), GetWool: int32(get[board.Wool]), GetGrain: int32(get[board.Grain]), GetOre: int32(get[board.Ore]),
	})
}
