package audit

import (
	"fmt"
	"math"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/rating"
)

// Ladder recomputes one mode's ladder from the first event of its stream. It repeats
// every seating with the listed candidates, and compares every rating to the last
// bit. NewLadder makes a Ladder. Set Beacons and SeedKeys before the first event.
type Ladder struct {
	Totals   LadderTotals
	Beacons  []Beacon           // the chains that the caller trusts; if empty, rounds are not checked
	SeedKeys map[string]SeedKey // by id; if nil, commitments are not checked

	platformKey string // base64; if empty, ids are not checked
	state       ladder.Ladder
	tick        time.Time         // of the latest seating
	watched     map[string]*entry // by match; an entry is nil until its match is seated
}

// LadderTotals counts what a ladder contains.
type LadderTotals struct {
	Events  int `json:"events"`
	Tables  int `json:"tables"`
	Rated   int `json:"rated"`   // matches
	Voided  int `json:"voided"`  // matches
	Changes int `json:"changes"` // rating changes, one for each seat
	Bots    int `json:"bots"`    // bots that were seated at least once

	Voids       map[string]int `json:"voids"`       // the voided matches by cause: wall_clock, operator or beacon
	Seatings    int            `json:"seatings"`    // events that seat tables
	Repeated    int            `json:"repeated"`    // seatings that Add repeated; a seating can be repeated only if it lists its candidates
	Beacon      int            `json:"beacon"`      // tables whose seating names a beacon round
	Rounds      int            `json:"rounds"`      // seatings whose round was compared with the tick
	Commitments int            `json:"commitments"` // tables whose commitment was recomputed from a published seed key

	Rests    []int64            `json:"restMs"`   // the distinct rest times of the repeated seatings, in order of appearance
	Warnings map[string]Warning `json:"warnings"` // by one of the constants below
}

// The kinds of warnings.
const (
	WithoutBeacon = "without_beacon" // the seating names no round, but an earlier one does
	Late          = "late"           // by the arena's clock, the seating was stored after its round had appeared
	Backdated     = "backdated"      // the tick is earlier than that of the previous seating
)

// Warning counts seatings that follow the rules, but may have allowed the arena to
// choose a seed. Such a seating is not a difference, because an honest operator can
// also cause it: a clock may jump, or the arena may be restarted without --beacon.
type Warning struct {
	Count int    `json:"count"`
	First uint64 `json:"first"` // revision of the first such seating
}

// entry is a watched match on its ladder.
type entry struct {
	Seating
	status string
	why    string             // the reason in the MatchVoided event; empty unless the match was aborted
	rated  []ladder.RatedSeat // nil unless the match is completed
}

// LadderDifference describes a ladder's first event that does not follow from the earlier
// events.
type LadderDifference struct {
	Mode     string `json:"mode"`
	Revision uint64 `json:"revision"` // in the ladder's stream
	Match    string `json:"match,omitempty"`
	Log      string `json:"log"`
	Follows  string `json:"follows"`
}

func (d *LadderDifference) Error() string {
	where := fmt.Sprintf("ladder-%s@%d", d.Mode, d.Revision)
	if d.Match != "" {
		where += ", match " + d.Match
	}
	return fmt.Sprintf("%s: the log has %s; expected %s", where, d.Log, d.Follows)
}

// NewLadder returns a mode's ladder before its first event. The ladder remembers the
// matches whose ids are in watch, for use in Evidence. platformKey is in base64, or
// empty if unknown.
func NewLadder(mode, platformKey string, watch ...string) *Ladder {
	l := &Ladder{
		Totals: LadderTotals{Voids: map[string]int{}, Warnings: map[string]Warning{}}, platformKey: platformKey,
		state: ladder.New(mode), watched: map[string]*entry{},
	}
	for _, id := range watch {
		l.watched[id] = nil
	}
	return l
}

// Add recomputes the next event of the stream. The parameter at is the event's time
// according to the arena. If the event ends a match, the bots' rest begins at that
// time. Add returns a *LadderDifference if the event differs, or another error if
// it cannot read the event.
func (l *Ladder) Add(revision uint64, at time.Time, eventType string, data []byte) error {
	mode := l.state.Mode()
	if want := l.state.Version(); revision != want {
		return &LadderDifference{mode, revision, "", fmt.Sprintf("an event at revision %d", revision), fmt.Sprintf("one at revision %d", want)}
	}
	e, err := decodeLadder(eventType, data)
	if err != nil {
		return fmt.Errorf("ladder-%s@%d: %w", mode, revision, err)
	}
	var d *LadderDifference
	switch e := e.(type) {
	case ladder.TablesSeated:
		d = l.seat(e, at)
	case ladder.RatingsChanged:
		d = l.rate(e)
	case ladder.MatchVoided:
		d = l.void(e)
	}
	if d != nil {
		d.Mode, d.Revision = mode, revision
		return d
	}
	l.state = ladder.Evolve(l.state, e, at)
	l.Totals.Events++
	l.Totals.Bots = l.state.Bots()
	return nil
}

func differ(match, log, follows string) *LadderDifference {
	return &LadderDifference{Match: match, Log: log, Follows: follows}
}

// rate recomputes the ratings of a match from its bots' earlier ratings.
func (l *Ladder) rate(e ladder.RatingsChanged) *LadderDifference {
	results := make([]ladder.Result, len(e.Seats))
	for i, s := range e.Seats {
		results[i] = ladder.Result{BotID: s.BotID, Placement: s.Placement, Missed: s.Missed}
	}
	events, err := l.state.Finish(e.MatchID, results)
	if err != nil {
		return differ(e.MatchID, "ratings that do not fit: "+err.Error(), "ratings for each bot of a match that is not yet rated or voided")
	}
	for i, want := range events[0].(ladder.RatingsChanged).Seats {
		switch s := e.Seats[i]; {
		case s.BotID != want.BotID:
			return differ(e.MatchID, "bot "+s.BotID, "bot "+want.BotID+", in table order")
		case !same(s.Before, want.Before):
			return differ(e.MatchID, fmt.Sprintf("bot %s had %s", s.BotID, describe(s.Before)), describe(want.Before))
		case !same(s.After, want.After):
			return differ(e.MatchID, fmt.Sprintf("bot %s has %s", s.BotID, describe(s.After)), describe(want.After))
		}
	}
	l.close(e.MatchID, completed, "", e.Seats)
	l.Totals.Rated++
	l.Totals.Changes += len(e.Seats)
	return nil
}

func (l *Ladder) void(e ladder.MatchVoided) *LadderDifference {
	if _, err := l.state.Void(e.MatchID, e.Why); err != nil {
		return differ(e.MatchID, fmt.Sprintf("a voided match with the reason %q", e.Why), "no such event: "+err.Error())
	}
	if s, _ := l.state.Seating(e.MatchID); e.Why == ladder.WhyBeacon && s.Beacon == nil {
		return differ(e.MatchID, fmt.Sprintf("a voided match with the reason %q", e.Why), "another reason: its seating names no round of a beacon")
	}
	l.close(e.MatchID, aborted, e.Why, nil)
	l.Totals.Voided++
	l.Totals.Voids[e.Why]++
	return nil
}

// close remembers the end of a watched match.
func (l *Ladder) close(matchID, status, why string, rated []ladder.RatedSeat) {
	if m := l.watched[matchID]; m != nil {
		m.status, m.why, m.rated = status, why, rated
	}
}

// The function same() reports whether two ratings are equal to the last bit.
func same(a, b rating.Rating) bool {
	return math.Float64bits(a.Mu) == math.Float64bits(b.Mu) && math.Float64bits(a.Sigma) == math.Float64bits(b.Sigma)
}

func describe(r rating.Rating) string { return fmt.Sprintf("mu %v, sigma %v", r.Mu, r.Sigma) }

// Outcome returns the status of a watched match on the ladder: completed with
// its ratings, aborted, or running. The status is empty if the match was never
// seated.
func (l *Ladder) Outcome(matchID string) (status string, rated []ladder.RatedSeat) {
	m := l.watched[matchID]
	if m == nil {
		return "", nil
	}
	return m.status, m.rated
}
