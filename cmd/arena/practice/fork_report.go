package practice

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"hexarena/adapters/client"
	"hexarena/domain/match"
	"hexarena/domain/tournament"
)

// forkReport is the result of a run, as --json prints it.
type forkReport struct {
	Match         string     `json:"match"`
	Mode          string     `json:"mode"`
	At            int        `json:"at"`   // the event that the flag names
	From          int        `json:"from"` // the first event that was played again
	Turn          int        `json:"turn"` // 0 during setup
	Owed          []forkOwed `json:"owed"` // the decisions that were played again first
	SameChance    bool       `json:"sameChance"`
	Seed          string     `json:"seed,omitempty"`
	Planned       int        `json:"planned"`
	Continuations int        `json:"continuations"` // that were completed
	Aborted       int        `json:"aborted"`
	Interrupted   bool       `json:"interrupted"`
	Seconds       float64    `json:"seconds"`
	Seats         []forkSeat `json:"seats"`
}

// forkOwed is an open decision.
type forkOwed struct {
	Seat     int    `json:"seat"`
	Kind     string `json:"kind"`
	Decision int    `json:"decision"`
}

// forkSeat compares what happened at a seat with the completed continuations.
type forkSeat struct {
	Seat   int       `json:"seat"`
	Forked bool      `json:"forked"` // whether --seat named the seat
	Then   thenAt    `json:"then"`   // what happened
	Bot    botReport `json:"now"`    // of the continuations

	// The bounds of 95 % intervals; null if fewer than 2 continuations were completed.
	PlacementLow  *float64 `json:"meanPlacementLow"`
	PlacementHigh *float64 `json:"meanPlacementHigh"`
	PointsLow     *float64 `json:"meanPointsLow"`
	PointsHigh    *float64 `json:"meanPointsHigh"`
}

// thenAt is what happened at a seat of the past match.
type thenAt struct {
	BotID     string `json:"botId"`
	BotName   string `json:"botName"`
	Placement *int   `json:"placement"` // null if the match was aborted, as are the points
	Points    *int   `json:"points"`
}

func (r *forkRun) report(interrupted bool) forkReport {
	out := forkReport{
		Match: r.past.started.MatchID, Mode: r.mode, At: r.at, From: len(r.before) + 1, Turn: int(r.state.Game.Turn),
		SameChance: r.same, Seed: r.plan.Seed, Planned: r.plan.Matches(), Continuations: r.rows.Completed(), Aborted: r.rows.Aborted,
		Interrupted: interrupted, Seconds: r.took.Seconds(),
	}
	for _, d := range r.state.Asks() {
		out.Owed = append(out.Owed, forkOwed{d.Seat, d.Kind.String(), d.ID})
	}
	end, completed := match.GameEnded{}, false
	if n := len(r.past.events); n > 0 {
		end, completed = r.past.events[n-1].(match.GameEnded)
	}
	slices.SortFunc(r.outcomes, func(a, b tournament.Outcome) int { return a.Match - b.Match })
	for seat, row := range r.rows.Rows() {
		b, was := r.bots[seat], r.past.started.Seats[seat]
		s := forkSeat{Seat: seat, Forked: r.forked[seat], Then: thenAt{BotID: was.BotID, BotName: was.BotName}, Bot: botReport{b.id, b.name, b.spec, r.starter.restarts[seat].Load(), row}}
		if completed {
			s.Then.Placement, s.Then.Points = &end.Placements[seat], &end.Scores[seat]
		}
		var places, points []float64 // in the order of the continuations, so that rounding does not change the intervals
		for _, o := range r.outcomes {
			if o.Aborted == "" {
				places, points = append(places, float64(o.Seats[seat].Placement)), append(points, float64(o.Seats[seat].Points))
			}
		}
		s.PlacementLow, s.PlacementHigh = interval(places)
		s.PointsLow, s.PointsHigh = interval(points)
		out.Seats = append(out.Seats, s)
	}
	return out
}

func interval(values []float64) (low, high *float64) {
	_, from, to, ok := tournament.MeanInterval(values)
	if !ok {
		return nil, nil
	}
	return &from, &to
}

func (r forkReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	var text strings.Builder
	r.printHead(&text)
	r.printSeats(&text)
	all := report{Aborted: r.Aborted}
	for _, s := range r.Seats {
		all.Bots = append(all.Bots, s.Bot)
	}
	all.printTrouble(&text)
	_, err := io.WriteString(out, text.String())
	return err
}

func (r forkReport) printHead(w io.Writer) {
	var owed []string
	for _, d := range r.Owed {
		owed = append(owed, fmt.Sprintf("seat %d (%s)", d.Seat, d.Kind))
	}
	chance := "fresh chance, seed " + r.Seed
	if r.SameChance {
		chance = "the chance of the match"
	}
	fmt.Fprintf(w, "match %s from event %d, turn %d; first to decide: %s\n", r.Match, r.From, r.Turn, strings.Join(owed, ", "))
	fmt.Fprintf(w, "%d continuations with %s", r.Continuations, chance)
	if r.Seconds > 0 {
		fmt.Fprint(w, pace(r.Seconds, float64(r.Continuations+r.Aborted)/r.Seconds))
	}
	fmt.Fprint(w, "\n\n")
}

func (r forkReport) printSeats(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "seat\tthen\tplace\tpoints\tnow\twins\t95 %\tplace\t95 %\tpoints\t95 %")
	for _, s := range r.Seats {
		b, mark := s.Bot, ""
		if s.Forked {
			mark = "*"
		}
		fmt.Fprintf(w, "%d%s\t%s\t%s\t%s\t%s\t%.1f %%\t%.1f to %.1f %%\t%.2f\t%s\t%.2f\t%s\n",
			s.Seat, mark, client.OneLine(s.Then.BotName), orDash(s.Then.Placement), orDash(s.Then.Points), b.Name, percent(b.Wins, b.Matches),
			100*b.WinLow, 100*b.WinHigh, b.MeanPlacement, fromTo(s.PlacementLow, s.PlacementHigh), b.MeanPoints, fromTo(s.PointsLow, s.PointsHigh))
	}
	_ = w.Flush() // writing to memory does not fail
}

func orDash(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func fromTo(low, high *float64) string {
	if low == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f to %.2f", *low, *high)
}
