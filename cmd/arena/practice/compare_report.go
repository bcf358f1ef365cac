package practice

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"hexarena/domain/tournament"
)

// compareReport is the result of a comparison, as --json prints it.
type compareReport struct {
	Verdict     string      `json:"verdict"`    // better, worse, noDifference, undecided, or open if the run was interrupted
	Difference  float64     `json:"difference"` // mean placement of OLD minus that of NEW: positive if NEW is better
	Low         float64     `json:"low"`        // of the interval of the difference, whose level is 1 − alpha
	High        float64     `json:"high"`
	Effect      float64     `json:"effect"`
	Alpha       float64     `json:"alpha"`
	Beta        float64     `json:"beta"`
	Blocks      int         `json:"blocks"` // that count
	MaxBlocks   int         `json:"maxBlocks"`
	BlockSize   int         `json:"blockSize"` // matches of each version
	Mode        string      `json:"mode"`
	Seed        string      `json:"seed"`
	Interrupted bool        `json:"interrupted"`
	Seconds     float64     `json:"seconds"`          // of this run
	PerSecond   float64     `json:"matchesPerSecond"` // of this run
	Old         []botReport `json:"old"`              // the bots at the tables of OLD, which is the first of them
	New         []botReport `json:"new"`

	tables [2]report // by version
}

var verdicts = map[tournament.Verdict]string{
	tournament.Open: "open", tournament.Better: "better", tournament.Worse: "worse",
	tournament.NoDifference: "noDifference", tournament.Undecided: "undecided",
}

func (r *compareRun) report(interrupted bool) compareReport {
	comparison, old := r.duel.Comparison, r.sides[tournament.Old]
	e := comparison.Estimate()
	out := compareReport{
		Verdict: verdicts[comparison.Verdict()], Difference: e.Mean, Low: e.Low, High: e.High,
		Effect: r.test.Effect, Alpha: r.test.Alpha, Beta: r.test.Beta,
		Blocks: comparison.Blocks(), MaxBlocks: r.test.MaxBlocks, BlockSize: old.plan.BlockSize(),
		Mode: old.mode, Seed: old.plan.Seed, Interrupted: interrupted, Seconds: r.took.Seconds(),
	}
	if r.took > 0 {
		out.PerSecond = float64(r.now) / r.took.Seconds()
	}
	for version, s := range r.sides {
		s.standings = r.duel.Standings[version]
		out.tables[version] = s.report(interrupted)
	}
	out.Old, out.New = out.tables[tournament.Old].Bots, out.tables[tournament.New].Bots
	return out
}

func (r compareReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n%d blocks of %d + %d %s matches, seed %s%s\n\n", r.sentence(), r.Blocks, r.BlockSize, r.BlockSize, r.Mode, r.Seed, pace(r.Seconds, r.PerSecond))
	r.printBots(&text)
	for version, t := range r.tables {
		var lines strings.Builder
		t.printTrouble(&lines)
		if lines.Len() > 0 {
			fmt.Fprintf(&text, "\nat the tables of %s:%s", strings.ToUpper(versions[version]), lines.String())
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// sentence returns the verdict with the difference and its interval.
func (r compareReport) sentence() string {
	estimate := fmt.Sprintf("%+.2f places (%.2f to %.2f)", r.Difference, r.Low, r.High)
	switch r.Verdict {
	case verdicts[tournament.Better]:
		return "NEW is better: " + estimate
	case verdicts[tournament.Worse]:
		return "NEW is worse: " + estimate
	case verdicts[tournament.NoDifference]:
		return fmt.Sprintf("no difference larger than %v places: %s", r.Effect, estimate)
	case verdicts[tournament.Undecided]:
		return "undecided: " + estimate
	}
	if r.Blocks < tournament.MinBlocks {
		return fmt.Sprintf("no verdict: a comparison needs at least %d blocks", tournament.MinBlocks)
	}
	return "no verdict yet: " + estimate
}

func (r compareReport) printBots(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "version\tbot\tmatches\twins\t95 %\tplace\tpoints\tstrikes\tdefaults\tp50\tp99")
	for version, b := range []botReport{r.Old[0], r.New[0]} {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f %%\t%.1f to %.1f %%\t%.2f\t%.2f\t%d\t%d\t%d ms\t%d ms\n",
			strings.ToUpper(versions[version]), b.Name, b.Matches, percent(b.Wins, b.Matches), 100*b.WinLow, 100*b.WinHigh,
			b.MeanPlacement, b.MeanPoints, b.StrikeCount(), b.Defaults, b.LatencyP50Ms, b.LatencyP99Ms)
	}
	_ = w.Flush() // writing to memory does not fail
}
