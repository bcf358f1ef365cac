package practice

import (
	"context"
	"time"

	"hexarena/adapters/housebot"
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
)

// playHouse plays a match in which only house bots sit. Like the referee, it asks,
// settles and folds batch by batch, but it needs no log, no lines and no JSON requests.
// The result is the same as that of the referee, except for times. players are by seat.
// A house bot has no deadline, but the wall clock ends the match.
func playHouse(ctx context.Context, server seed.Seed, seating match.Seating, players []*housebot.Player) (h frames.History, err error) {
	m := match.New(server)
	events, err := m.Start(seating)
	if err != nil {
		return h, err
	}
	h.Started = events[0].(match.Started)
	m, events = match.EvolveAll(m, events), events[1:]
	used := match.NewClocks(len(players))
	wall := time.Duration(seating.Deadlines.WallMs) * time.Millisecond
	for begun := time.Now(); ; {
		now := time.Now()
		for _, e := range events {
			h.Events, h.Times, h.Clocks = append(h.Events, e), append(h.Times, now), append(h.Clocks, frames.Clock{Used: used})
		}
		switch err := ctx.Err(); {
		case err != nil || m.Over():
			return finished(h, &m), err
		case now.Sub(begun) < wall:
			m, events, used, err = settleHouse(m, used, players)
			if err != nil {
				return h, err
			}
		default:
			if events, err = m.Cancel(match.WallClock); err != nil {
				return h, err
			}
			m = match.EvolveAll(m, events)
		}
	}
}

func finished(h frames.History, m *match.Match) frames.History {
	switch {
	case m.End != nil:
		h.Seed, h.Proof = &m.End.Seed, &m.End.Proof
	case m.Abort != nil:
		h.Seed, h.Proof = &m.Abort.Seed, &m.Abort.Proof
	}
	return h
}

// settleHouse plays one batch.
func settleHouse(m match.Match, used match.Clocks, players []*housebot.Player) (match.Match, []match.Event, match.Clocks, error) {
	asks := m.Asks()
	outcomes := make([]match.Outcome, len(asks))
	for i, d := range asks {
		request, asked := m.Request(d), time.Now()
		allowed := m.Allow(used, d.Seat)
		request.DeadlineMs, request.BankMs = allowed.DeadlineMs, allowed.BankMs
		frame := players[d.Seat].AnswerRequest(&request)
		took := time.Since(asked).Milliseconds()
		outcomes[i] = match.Outcome{Decision: d.ID, Frame: frame, Heard: true, ElapsedMs: took, UsedMs: took}
	}
	used = m.Charge(used, outcomes)
	m, events, err := m.Advance(outcomes)
	return m, events, used, err
}
