package audit

import (
	"fmt"

	"hexarena/domain/match"
)

// thinkingTimes compares each seat's thinking time in the record with the sum of the
// times in the seat's events.
func (w *walk) thinkingTimes() {
	r := w.record
	if r.thinking == nil {
		w.skipped(CheckThinking, "the record has no thinking times")
		return
	}
	w.compare(CheckThinking, inJSON(r.thinking), inJSON(w.thinking[:len(r.players)]))
}

// The method totals() compares the other fields of the record with its replay.
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
	if r.reason != "" && r.Status != aborted {
		a.differs(CheckRecord, 0, fmt.Sprintf("the reason %q of a %s match", r.reason, r.Status), "a reason only in an aborted match")
	}
	a.placements(last)
}

// The method placements() compares the players' placements with those in the end event.
func (a *audit) placements(last event) {
	end, _ := last.data.(match.GameEnded)
	for i, p := range a.record.players {
		want := 0 // 0 means null: an aborted match has no placements
		if i < len(end.Placements) {
			want = end.Placements[i]
		}
		a.compare(CheckPlacements, fmt.Sprintf("placement %d of seat %d", p.placement, i), fmt.Sprintf("placement %d of seat %d", want, i))
		if a.record.Status == aborted && p.delta != nil {
			a.differs(CheckRating, 0, fmt.Sprintf("the rating of seat %d changes by %v", i, *p.delta), "no change: the match was aborted")
		}
	}
}
