package tournament

import (
	"maps"
	"slices"

	"hexarena/domain/match"
)

// Outcome contains everything that Standings needs to know about one match.
type Outcome struct {
	Match   int          `json:"match"` // its number in the plan
	ID      string       `json:"id"`
	Aborted string       `json:"aborted,omitempty"` // why the match was aborted; empty if it was completed
	Seats   []SeatResult `json:"seats"`             // by seat
}

// SeatResult is what the bot at one seat did in a match.
type SeatResult struct {
	Bot       int            `json:"bot"`
	Placement int            `json:"placement"` // 0 in an aborted match, as are the points
	Points    int            `json:"points"`
	Strikes   map[string]int `json:"strikes,omitempty"` // by reason: the cause of a timeout, or the rule that an answer broke
	Resigned  bool           `json:"resigned,omitempty"`
	Defaults  int            `json:"defaults,omitempty"` // actions that the arena played for the bot
	Latency   Latency        `json:"latencyMs"`
}

// Latency counts decisions by the time that the bot took, in milliseconds. A count for
// each time needs little memory, even for millions of decisions.
type Latency map[int64]int

func (l Latency) add(other Latency) {
	for ms, n := range other {
		l[ms] += n
	}
}

// Percentile returns the smallest time that is at least as long as p percent of the
// times (the nearest rank). Without decisions, it returns 0.
func (l Latency) Percentile(p float64) int64 {
	total := 0
	for _, n := range l {
		total += n
	}
	times, below := slices.Sorted(maps.Keys(l)), 0
	for _, ms := range times {
		if below += l[ms]; float64(below)*100 >= p*float64(total) {
			return ms
		}
	}
	return 0
}

// OutcomeOf folds the events of an ended match. They may include MatchStarted.
func OutcomeOf(m Match, events []match.Event) Outcome {
	o := Outcome{Match: m.Number, ID: m.ID, Seats: make([]SeatResult, len(m.Seats))}
	for seat, bot := range m.Seats {
		o.Seats[seat] = SeatResult{Bot: bot, Latency: Latency{}}
	}
	for _, e := range events {
		o.fold(e)
	}
	return o
}

func (o *Outcome) fold(e match.Event) {
	switch e := e.(type) {
	case match.ActionPlayed:
		s := &o.Seats[e.Seat]
		if e.Default {
			s.Defaults++
		} else if e.ElapsedMs != nil {
			s.Latency[*e.ElapsedMs]++
		}
	case match.DecisionTimedOut:
		o.Seats[e.Seat].strike(e.Cause, e.ElapsedMs)
	case match.AnswerRejected:
		o.Seats[e.Seat].strike(e.Reason, e.ElapsedMs)
	case match.SeatResigned:
		o.Seats[e.Seat].Resigned = true
	case match.GameEnded:
		for i := range o.Seats {
			o.Seats[i].Placement, o.Seats[i].Points = e.Placements[i], e.Scores[i]
		}
	case match.Aborted:
		o.Aborted = e.Why
	}
}

func (s *SeatResult) strike(reason string, elapsedMs int64) {
	if s.Strikes == nil {
		s.Strikes = map[string]int{}
	}
	s.Strikes[reason]++
	s.Latency[elapsedMs]++
}

// Standings sums up the outcomes of matches. The order in which it receives them does
// not matter.
type Standings struct {
	Aborted int // matches

	rows    []Row
	latency []Latency
	results map[int]Result // by the number of the match
}

// Row is the summary of one bot. Aborted matches count only in Strikes, Resigned,
// Defaults and the latency.
type Row struct {
	Matches       int            `json:"matches"`
	Wins          int            `json:"wins"`
	WinLow        float64        `json:"winLow"` // of the 95 % interval for the share of wins
	WinHigh       float64        `json:"winHigh"`
	MeanPlacement float64        `json:"meanPlacement"`
	MeanPoints    float64        `json:"meanPoints"`
	Rating        float64        `json:"rating"` // as in Strength
	RatingLow     float64        `json:"ratingLow"`
	RatingHigh    float64        `json:"ratingHigh"`
	Strikes       map[string]int `json:"strikes"`
	Resigned      int            `json:"resigned"`
	Defaults      int            `json:"defaults"`
	LatencyP50Ms  int64          `json:"latencyP50Ms"`
	LatencyP99Ms  int64          `json:"latencyP99Ms"`
	Seats         []SeatRow      `json:"seats"`
}

// SeatRow is the summary of one bot at one seat.
type SeatRow struct {
	Matches       int     `json:"matches"`
	Wins          int     `json:"wins"`
	MeanPlacement float64 `json:"meanPlacement"`
	MeanPoints    float64 `json:"meanPoints"`

	placements, points int // sums
}

// NewStandings returns the standings of a number of bots before their first match.
func NewStandings(bots int) *Standings {
	s := &Standings{rows: make([]Row, bots), latency: make([]Latency, bots), results: map[int]Result{}}
	for i := range bots {
		s.rows[i] = Row{Strikes: map[string]int{}, Seats: make([]SeatRow, bots)}
		s.latency[i] = Latency{}
	}
	return s
}

// Add adds the outcome of a match.
func (s *Standings) Add(o Outcome) {
	var r Result
	for seat, result := range o.Seats {
		s.addSeat(seat, result, o.Aborted != "")
		r.Bots, r.Places = append(r.Bots, result.Bot), append(r.Places, result.Placement)
	}
	if o.Aborted != "" {
		s.Aborted++
		return
	}
	s.results[o.Match] = r
}

func (s *Standings) addSeat(seat int, r SeatResult, aborted bool) {
	row := &s.rows[r.Bot]
	for reason, n := range r.Strikes {
		row.Strikes[reason] += n
	}
	if r.Resigned {
		row.Resigned++
	}
	row.Defaults += r.Defaults
	s.latency[r.Bot].add(r.Latency)
	if aborted {
		return
	}
	at := &row.Seats[seat]
	at.Matches++
	at.placements += r.Placement
	at.points += r.Points
	if r.Placement == 1 {
		at.Wins++
	}
}

// Completed returns the number of matches that were not aborted.
func (s *Standings) Completed() int { return len(s.results) }

// Strikes returns the number of strikes of all bots.
func (s *Standings) Strikes() (total int) {
	for i := range s.rows {
		total += s.rows[i].StrikeCount()
	}
	return total
}

// StrikeCount returns the number of the bot's strikes, whatever their reasons.
func (r *Row) StrikeCount() (total int) {
	for _, n := range r.Strikes {
		total += n
	}
	return total
}

// Rows returns the summary of each bot.
func (s *Standings) Rows() []Row {
	results := make([]Result, 0, len(s.results))
	for _, number := range slices.Sorted(maps.Keys(s.results)) {
		results = append(results, s.results[number]) // always in the same order, so that rounding does not change the ratings
	}
	strengths := Fit(results, len(s.rows))
	rows := make([]Row, len(s.rows))
	for i, row := range s.rows {
		row.Seats = slices.Clone(row.Seats)
		placements, points := 0, 0
		for j := range row.Seats {
			at := &row.Seats[j]
			at.MeanPlacement, at.MeanPoints = mean(at.placements, at.Matches), mean(at.points, at.Matches)
			row.Matches, row.Wins = row.Matches+at.Matches, row.Wins+at.Wins
			placements, points = placements+at.placements, points+at.points
		}
		row.MeanPlacement, row.MeanPoints = mean(placements, row.Matches), mean(points, row.Matches)
		row.WinLow, row.WinHigh = Wilson(row.Wins, row.Matches)
		row.Rating, row.RatingLow, row.RatingHigh = strengths[i].Rating, strengths[i].Low, strengths[i].High
		row.LatencyP50Ms, row.LatencyP99Ms = s.latency[i].Percentile(50), s.latency[i].Percentile(99)
		rows[i] = row
	}
	return rows
}

func mean(sum, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}
