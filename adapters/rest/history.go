package rest

import (
	"errors"
	"fmt"
	"time"

	"hexarena/domain/match"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// History returns the history of an ended match, as far as its record contains it. It
// lacks the clocks, the owners and the ratings. The caller must
// have checked the record with package domain/audit, because History does not check that
// the events obey the rules.
func (m *Match) History() (h frames.History, err error) {
	switch {
	case m.Status == matches.Running:
		return h, errors.New("the match is still running")
	case m.Proof == nil || len(m.Replay) == 0:
		return h, errors.New("the record has no proof or no events")
	case len(m.Players) < 3 || len(m.Players) > 4:
		return h, fmt.Errorf("the record has %d players, not 3 or 4", len(m.Players))
	}
	p := *m.Proof
	h.Proof, h.Seed = m.Proof, m.Seed
	h.Started = match.Started{
		MatchID: m.ID, Mode: m.Mode, Rules: match.RulesVersion, Commitment: m.Commitment, Nonces: p.Nonces, Beacon: p.Beacon,
		Table: match.Table{Bots: p.Table, Revision: p.Revision, Index: p.Index, SeedKey: p.SeedKey},
	}
	for i, player := range m.Players {
		h.Started.Seats = append(h.Started.Seats, match.Seat{BotID: player.BotID, BotName: player.BotName, Version: m.Version(i)})
	}
	for i := range m.Replay {
		e, err := m.Replay[i].Stored(p)
		if err != nil {
			return h, err
		}
		at, err := time.Parse(match.TimeFormat, m.Replay[i].At)
		if err != nil {
			return h, fmt.Errorf("event %d: %w", m.Replay[i].Seq, err)
		}
		h.Events, h.Times, h.Clocks = append(h.Events, e), append(h.Times, at), append(h.Clocks, frames.Clock{})
	}
	if m.Status == matches.Aborted {
		at := h.Times[len(h.Times)-1]
		if m.EndedAt != nil {
			if at, err = time.Parse(match.TimeFormat, *m.EndedAt); err != nil {
				return h, err
			}
		}
		h.Events = append(h.Events, match.Aborted{Why: m.Reason, Seed: match.SeedOf(p.ServerSeed, p.Nonces, p.Beacon), Proof: p})
		h.Times, h.Clocks = append(h.Times, at), append(h.Clocks, frames.Clock{})
	}
	return h, nil
}
