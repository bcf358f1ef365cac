package audit

import (
	"fmt"
	"slices"

	"hexarena/domain/game"
	"hexarena/domain/match"
)

// end expects the end of the match: reason, true scores, placements.
func (w *walk) end(c game.Consequence) bool {
	over := w.game
	over.Apply(c)
	want := match.EndData{Reason: c.Reason.String()}
	placements := over.Placements()
	for seat := range over.Seats {
		want.Scores = append(want.Scores, over.TrueScore(seat))
		want.Placements = append(want.Placements, int(placements[seat]))
	}
	return w.expect(nEnd, "end", nobody, func(data any) bool {
		d, ok := data.(ended)
		return ok && d.reason == want.Reason && slices.Equal(d.scores, want.Scores) && slices.Equal(d.placements, want.Placements)
	}, want)
}

// thinkingTimes compares the record's sums with the times of its events.
func (w *walk) thinkingTimes() {
	r := w.record
	if r.thinking == nil {
		w.skipped(CheckThinking, "the record does not say")
		return
	}
	w.compare(CheckThinking, inJSON(r.thinking), inJSON(w.thinking[:len(r.players)]))
}

// totals compares the other fields of the record with its replay.
func (a *audit) totals() {
	r := a.record
	for i, p := range r.players {
		a.compare(CheckSeats, fmt.Sprintf("seat %d in the place of seat %d", p.seat, i), fmt.Sprintf("seat %d in the place of seat %d", i, i))
	}
	a.compare(CheckRecord, "startedAt "+r.startedAt, "startedAt "+r.events[0].at)
	last := r.events[len(r.events)-1]
	if r.Status == completed {
		a.compare(CheckRecord, "endedAt "+r.endedAt, "endedAt "+last.at)
	} else if !validTime(r.endedAt) {
		a.differs(CheckRecord, 0, fmt.Sprintf("endedAt %q", r.endedAt), "a time as "+match.TimeFormat)
	}
	a.placements(last)
}

// placements compares the placements of the players with those of the end.
func (a *audit) placements(last event) {
	end, _ := last.data.(ended)
	for i, p := range a.record.players {
		want := 0 // null: an aborted match has none
		if i < len(end.placements) {
			want = end.placements[i]
		}
		a.compare(CheckPlacements, fmt.Sprintf("placement %d of seat %d", p.placement, i), fmt.Sprintf("placement %d of seat %d", want, i))
		if a.record.Status == aborted && p.delta != nil {
			a.differs(CheckRating, 0, fmt.Sprintf("the rating of seat %d changes by %v", i, *p.delta), "no change: the match was aborted")
		}
	}
}
