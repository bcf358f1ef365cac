package audit

import (
	"fmt"
	"slices"

	"hexarena/domain/ladder"
	"hexarena/domain/rating"
)

// The method rating() compares the record with the ladder: the seating, the end and the
// change of each rating.
func (a *audit) rating() {
	r := a.record
	switch {
	case a.evidence.Ladder == nil:
		a.skipped(CheckRating, "the ladder was not given")
		return
	case r.proof == nil:
		a.skipped(CheckRating, "no arena seated this match")
		return
	}
	m := a.evidence.Ladder.watched[r.ID]
	if m == nil || a.evidence.Ladder.state.Mode() != r.Mode {
		a.differs(CheckRating, 0, "a match of mode "+r.Mode, "no such match: its ladder never seated it")
		return
	}
	a.table(CheckRating, r.proof, &m.Seating)
	a.compare(CheckRating, r.Status, m.status)
	if r.reason != "" {
		a.compare(CheckRating, "aborted with the reason "+r.reason, "aborted with the reason "+m.why)
	}
	for _, s := range m.rated {
		a.ratedSeat(s)
	}
}

// ratedSeat compares the ladder's result for a bot with the record.
func (a *audit) ratedSeat(s ladder.RatedSeat) {
	seat := slices.IndexFunc(a.record.players, func(p player) bool { return p.botID == s.BotID })
	if seat < 0 {
		a.differs(CheckRating, 0, "no bot "+s.BotID, "bot "+s.BotID+", which the ladder rated")
		return
	}
	p := a.record.players[seat]
	a.compare(CheckRating, fmt.Sprintf("bot %s in place %d", s.BotID, p.placement), fmt.Sprintf("bot %s in place %d", s.BotID, s.Placement))
	delta := rating.Delta(s.Before, s.After)
	if p.delta == nil || *p.delta != delta {
		a.differs(CheckRating, 0, fmt.Sprintf("ratingDelta %s of bot %s", inJSON(p.delta), s.BotID), inJSON(delta))
	}
	if s.Missed && a.heard[seat] {
		a.differs(CheckRating, 0, "a miss of bot "+s.BotID, "no miss: the replay shows that the bot sent an answer")
	}
}
