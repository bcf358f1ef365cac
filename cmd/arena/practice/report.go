package practice

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"hexarena/domain/tournament"
)

// report is the result of a run, as --json prints it.
type report struct {
	Mode        string      `json:"mode"`
	Seats       string      `json:"seats"` // rotate or fixed
	Seed        string      `json:"seed,omitempty"`
	Seeds       []string    `json:"seeds,omitempty"`
	Planned     int         `json:"planned"` // matches
	Matches     int         `json:"matches"` // that have ended, including those of earlier runs
	Aborted     int         `json:"aborted"`
	Interrupted bool        `json:"interrupted"`
	Seconds     float64     `json:"seconds"`          // of this run
	PerSecond   float64     `json:"matchesPerSecond"` // of this run
	Bots        []botReport `json:"bots"`

	blockSize int
}

// botReport is the result of one bot.
type botReport struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Spec     string `json:"spec"`
	Restarts int64  `json:"restarts"` // how often its program ended and was started again in this run
	tournament.Row
}

func (r *playRun) report(interrupted bool) report {
	out := report{
		Mode: r.mode, Seats: r.settings.Seats, Seed: r.plan.Seed, Seeds: r.plan.Seeds, Planned: r.plan.Matches(),
		Matches: r.standings.Completed() + r.standings.Aborted, Aborted: r.standings.Aborted, Interrupted: interrupted,
		Seconds: r.took.Seconds(), blockSize: r.plan.BlockSize(),
	}
	if r.took > 0 {
		out.PerSecond = float64(r.now) / r.took.Seconds()
	}
	for i, row := range r.standings.Rows() {
		b := r.bots[i]
		out.Bots = append(out.Bots, botReport{b.id, b.name, b.spec, r.starter.restarts[i].Load(), row})
	}
	return out
}

func (r report) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	var text strings.Builder
	r.printHead(&text)
	r.printBots(&text)
	r.printSeats(&text)
	r.printTrouble(&text)
	_, err := io.WriteString(out, text.String())
	return err
}

func (r report) printHead(w io.Writer) {
	seed := "seed " + r.Seed
	if r.Seeds != nil {
		seed = fmt.Sprintf("%d seeds from a file", len(r.Seeds))
	}
	fmt.Fprintf(w, "%d %s matches in blocks of %d, %s", r.Matches, r.Mode, r.blockSize, seed)
	fmt.Fprintf(w, "%s\n\n", pace(r.Seconds, r.PerSecond))
}

// pace describes how fast a run was. It returns "" if the run played no match.
func pace(seconds, perSecond float64) string {
	if perSecond == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s, %.1f matches/s)", time.Duration(seconds*float64(time.Second)).Round(100*time.Millisecond), perSecond)
}

func (r report) printBots(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "bot\tmatches\twins\t95 %\tplace\tpoints\trating\t95 %\tstrikes\tdefaults\tp50\tp99")
	for _, b := range r.Bots {
		fmt.Fprintf(w, "%s\t%d\t%.1f %%\t%.1f to %.1f %%\t%.2f\t%.2f\t%+.0f\t%+.0f to %+.0f\t%d\t%d\t%d ms\t%d ms\n",
			b.Name, b.Matches, percent(b.Wins, b.Matches), 100*b.WinLow, 100*b.WinHigh, b.MeanPlacement, b.MeanPoints,
			b.Rating, b.RatingLow, b.RatingHigh, b.StrikeCount(), b.Defaults, b.LatencyP50Ms, b.LatencyP99Ms)
	}
	_ = w.Flush() // writing to memory does not fail
}

// printSeats prints how often each bot won at each seat, and its mean placement there.
func (r report) printSeats(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nby seat")
	for seat := range r.Bots {
		fmt.Fprintf(w, "\t%d", seat)
	}
	for _, b := range r.Bots {
		fmt.Fprintf(w, "\n%s", b.Name)
		for _, s := range b.Seats {
			if s.Matches == 0 {
				fmt.Fprint(w, "\t-")
				continue
			}
			fmt.Fprintf(w, "\t%.1f %%, place %.2f", percent(s.Wins, s.Matches), s.MeanPlacement)
		}
	}
	fmt.Fprintln(w)
	_ = w.Flush() // as above
}

// printTrouble prints strikes by reason, resignations, programs that ended, and aborted
// matches.
func (r report) printTrouble(w io.Writer) {
	var lines []string
	for _, b := range r.Bots {
		var parts []string
		for _, reason := range slices.Sorted(maps.Keys(b.Strikes)) {
			parts = append(parts, fmt.Sprintf("%d %s", b.Strikes[reason], reason))
		}
		if len(parts) > 0 {
			lines = append(lines, fmt.Sprintf("%s: strikes: %s; resigned in %d matches", b.Name, strings.Join(parts, ", "), b.Resigned))
		}
		if b.Restarts > 0 {
			lines = append(lines, fmt.Sprintf("%s: the program ended and was started again %d times", b.Name, b.Restarts))
		}
	}
	if r.Aborted > 0 {
		lines = append(lines, fmt.Sprintf("%d matches were aborted because their wall clock ran out; they count only in strikes, defaults and times", r.Aborted))
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(lines, "\n"))
	}
}

func percent(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}
