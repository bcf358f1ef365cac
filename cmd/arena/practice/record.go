package practice

import (
	"hexarena/adapters/rest"
	"hexarena/domain/match"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
	"hexarena/projections/seats"
)

// newRecord returns the record of an ended match. Its shape is that of GET /matches/{id},
// with the decision logs of all seats.
func newRecord(p played) (rest.LocalMatch, error) {
	summary, err := summaryOf(&p.history)
	if err != nil {
		return rest.LocalMatch{}, err
	}
	r := rest.LocalMatch{Match: rest.NewMatch(summary, &p.history)}
	for i, s := range p.history.Started.Seats {
		decisions := rest.Decisions{Decisions: p.history.Decisions(i, nil, p.details)}
		r.DecisionLogs = append(r.DecisionLogs, rest.DecisionLog{Seat: i, BotID: s.BotID, Decisions: decisions})
	}
	return r, nil
}

// summaryOf returns the summary of an ended match without ratings.
func summaryOf(h *frames.History) (matches.Summary, error) {
	last := len(h.Events) - 1
	ended := rest.FormatTime(h.Times[last])
	s := matches.Summary{
		ID: h.Started.MatchID, Mode: h.Started.Mode, Status: matches.Completed,
		StartedAt: rest.FormatTime(h.Times[0]), EndedAt: &ended, Seats: seats.Begin(h.Started),
	}
	m := match.Evolve(match.New(h.Proof.ServerSeed), h.Started)
	for i, e := range h.Events {
		m = match.Evolve(m, e)
		if err := seats.Fold(s.Seats, e, h.Clocks[i].Used); err != nil {
			return s, err
		}
	}
	if m.Abort != nil {
		s.Status, s.Reason = matches.Aborted, m.Abort.Why
	}
	s.Turns = int(m.Game.Turn)
	if m.End != nil {
		s.Scores = m.End.Scores
	}
	for i, seat := range h.Started.Seats {
		p := matches.Player{Seat: i, BotID: seat.BotID, BotName: seat.BotName}
		if m.End != nil {
			p.Placement = &m.End.Placements[i]
			s.Seats[i].Missed = m.Missed(i)
		}
		s.Players = append(s.Players, p)
	}
	return s, nil
}
