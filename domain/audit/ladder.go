package audit

import (
	"fmt"
	"math"
	"slices"

	"hexarena/domain/ladder"
	"hexarena/domain/rating"
)

// Ladder recomputes one mode's ladder from its stream, event by event from the
// first: who may be seated, and every rating to the last bit. Make one with
// NewLadder.
type Ladder struct {
	Totals LadderTotals

	mode        string
	platformKey string // base64; empty: ids are not recomputed
	bots        map[string]standing
	open        map[string]*entry // unfinished matches
	watched     map[string]*entry // nil: seated not yet
	before      []rating.Rating   // scratch
	placements  []int             // scratch
}

// LadderTotals counts the contents of a ladder.
type LadderTotals struct {
	Events  int `json:"events"`
	Tables  int `json:"tables"`
	Rated   int `json:"rated"`   // matches
	Voided  int `json:"voided"`  // matches
	Changes int `json:"changes"` // of ratings, one a seat
	Bots    int `json:"bots"`    // seated at least once
}

type standing struct {
	rating rating.Rating
	match  string // its unfinished match, or empty
}

// entry is a match of the ladder.
type entry struct {
	ladder.Table
	revision uint64
	index    int
	seedKey  string
	rated    []ladder.RatedSeat
	voided   string // why
	done     bool
}

// LadderDifference is the place where a ladder does not fit its earlier events.
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
	return fmt.Sprintf("%s: the log says %s; what follows is %s", where, d.Log, d.Follows)
}

// NewLadder returns a mode's ladder before its first event. It remembers the
// watched matches for Evidence. platformKey is in base64, or empty if unknown.
func NewLadder(mode, platformKey string, watch ...string) *Ladder {
	l := &Ladder{mode: mode, platformKey: platformKey, bots: map[string]standing{}, open: map[string]*entry{}, watched: map[string]*entry{}}
	for _, id := range watch {
		l.watched[id] = nil
	}
	return l
}

// Add recomputes the next event of the stream. It returns a *LadderDifference if
// the event differs, or an error if it cannot be read.
func (l *Ladder) Add(revision uint64, eventType string, data []byte) error {
	if want := uint64(l.Totals.Events); revision != want {
		return &LadderDifference{l.mode, revision, "", fmt.Sprintf("an event at revision %d", revision), fmt.Sprintf("one at revision %d", want)}
	}
	e, err := decodeLadder(eventType, data)
	if err != nil {
		return fmt.Errorf("ladder-%s@%d: %w", l.mode, revision, err)
	}
	var d *LadderDifference
	switch e := e.(type) {
	case ladder.TablesSeated:
		d = l.seat(revision, e)
	case ladder.RatingsChanged:
		d = l.rate(e)
	case ladder.MatchVoided:
		d = l.void(e)
	}
	if d != nil {
		d.Mode, d.Revision = l.mode, revision
		return d
	}
	l.Totals.Events++
	return nil
}

func differ(match, log, follows string) *LadderDifference {
	return &LadderDifference{Match: match, Log: log, Follows: follows}
}

func (l *Ladder) bot(id string) standing {
	if b, ok := l.bots[id]; ok {
		return b
	}
	return standing{rating: rating.New()}
}

// seat requires tables of four, the last perhaps of three, filled from the best
// rating down with bots that are in no match.
func (l *Ladder) seat(revision uint64, e ladder.TablesSeated) *LadderDifference {
	least := math.Inf(1)
	for i, t := range e.Tables {
		if n := len(t.Bots); n != 4 && (n != 3 || i < len(e.Tables)-1) {
			return differ(t.MatchID, fmt.Sprintf("a table of %d", n), "tables of 4, the last of 3 or 4")
		}
		if id := ladder.MatchID(l.platformKey, l.mode, revision, i); l.platformKey != "" && id != t.MatchID {
			return differ(t.MatchID, "the id "+t.MatchID, "the id "+id)
		}
		if l.open[t.MatchID] != nil {
			return differ(t.MatchID, "a match that is seated twice", "one seating")
		}
		for _, bot := range t.Bots {
			b := l.bot(bot)
			if b.match != "" {
				return differ(t.MatchID, fmt.Sprintf("bot %s at a table", bot), "no seat for it: it is in match "+b.match)
			}
			if o := b.rating.Ordinal(); o > least {
				return differ(t.MatchID, fmt.Sprintf("bot %s below a lower rating", bot), "tables that are filled from the top")
			}
			least = b.rating.Ordinal()
			b.match = t.MatchID
			l.bots[bot] = b
		}
		l.remember(&entry{Table: t, revision: revision, index: i, seedKey: e.SeedKey})
	}
	l.Totals.Tables += len(e.Tables)
	l.Totals.Bots = len(l.bots)
	return nil
}

func (l *Ladder) remember(m *entry) {
	l.open[m.MatchID] = m
	if _, watch := l.watched[m.MatchID]; watch {
		l.watched[m.MatchID] = m
	}
}

// rate recomputes the ratings of a match from its bots' earlier ratings.
func (l *Ladder) rate(e ladder.RatingsChanged) *LadderDifference {
	m := l.open[e.MatchID]
	if m == nil {
		return differ(e.MatchID, "ratings of a match", "none: it is not unfinished on this ladder")
	}
	if len(e.Seats) != len(m.Bots) {
		return differ(e.MatchID, fmt.Sprintf("ratings of %d bots", len(e.Seats)), fmt.Sprintf("of %d", len(m.Bots)))
	}
	l.before, l.placements = l.before[:0], l.placements[:0]
	for i, s := range e.Seats {
		had := l.bot(m.Bots[i]).rating
		if s.BotID != m.Bots[i] {
			return differ(e.MatchID, "bot "+s.BotID, "bot "+m.Bots[i]+", in table order")
		}
		if !same(s.Before, had) {
			return differ(e.MatchID, fmt.Sprintf("bot %s had %s", s.BotID, say(s.Before)), say(had))
		}
		l.before, l.placements = append(l.before, had), append(l.placements, s.Placement)
	}
	if want := ranked(l.placements); !slices.Equal(want, l.placements) {
		return differ(e.MatchID, fmt.Sprintf("the placements %v", l.placements), fmt.Sprintf("%v", want))
	}
	for i, after := range rating.Rate(l.before, l.placements) {
		if s := e.Seats[i]; !same(s.After, after) {
			return differ(e.MatchID, fmt.Sprintf("bot %s has %s", s.BotID, say(s.After)), say(after))
		}
		l.bots[m.Bots[i]] = standing{rating: after}
	}
	m.rated = e.Seats
	l.finish(m)
	l.Totals.Rated++
	l.Totals.Changes += len(e.Seats)
	return nil
}

func (l *Ladder) void(e ladder.MatchVoided) *LadderDifference {
	m := l.open[e.MatchID]
	if m == nil {
		return differ(e.MatchID, "a match that is void", "none: it is not unfinished on this ladder")
	}
	if e.Why != ladder.WhyWallClock && e.Why != ladder.WhyOperator {
		return differ(e.MatchID, fmt.Sprintf("void for %q", e.Why), "wall_clock or operator")
	}
	for _, bot := range m.Bots {
		l.bots[bot] = standing{rating: l.bot(bot).rating}
	}
	m.voided = e.Why
	l.finish(m)
	l.Totals.Voided++
	return nil
}

func (l *Ladder) finish(m *entry) {
	m.done = true
	delete(l.open, m.MatchID)
}

// same compares to the last bit.
func same(a, b rating.Rating) bool {
	return math.Float64bits(a.Mu) == math.Float64bits(b.Mu) && math.Float64bits(a.Sigma) == math.Float64bits(b.Sigma)
}

func say(r rating.Rating) string { return fmt.Sprintf("mu %v, sigma %v", r.Mu, r.Sigma) }

// ranked returns the competition ranking of the same order: 1, 2, 2, 4.
func ranked(placements []int) []int {
	want := make([]int, len(placements))
	for i, p := range placements {
		want[i] = 1
		for _, other := range placements {
			if other < p {
				want[i]++
			}
		}
	}
	return want
}

// Outcome returns the status of a watched match on the ladder: completed with its
// ratings, aborted or running. It is empty if the match was never seated.
func (l *Ladder) Outcome(matchID string) (status string, rated []ladder.RatedSeat) {
	m := l.watched[matchID]
	if m == nil {
		return "", nil
	}
	return m.status(), m.rated
}
