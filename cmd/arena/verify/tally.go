package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"hexarena/domain/audit"
)

// tally sums the reports of the verified matches.
type tally struct {
	Matches    int               `json:"matches"`
	Events     int               `json:"events"`
	Checks     []checkTally      `json:"checks"`
	SeedFrom   map[string]int    `json:"seedFrom,omitempty"` // number of matches, by description of who contributed to the seed
	Match      string            `json:"match,omitempty"`    // the only match, or the match that differs
	Difference *audit.Difference `json:"difference,omitempty"`
}

// checkTally sums one check over all matches.
type checkTally struct {
	Name    string `json:"name"`
	Matches int    `json:"matches"` // number of matches in which the check was performed
	Count   int    `json:"count"`   // number of compared values
	Because string `json:"because,omitempty"`
}

func (t *tally) add(r audit.Report) {
	t.Matches++
	t.Events += r.Events
	t.Match, t.Difference = r.Match, r.Difference
	if r.SeedFrom != "" {
		if t.SeedFrom == nil {
			t.SeedFrom = map[string]int{}
		}
		t.SeedFrom[r.SeedFrom]++
	}
	for _, c := range r.Checks {
		sum := t.check(c.Name)
		if c.Made {
			sum.Matches++
		}
		sum.Count += c.Count
		if c.Because != "" {
			sum.Because = c.Because
		}
	}
}

func (t *tally) check(name string) *checkTally {
	for i := range t.Checks {
		if t.Checks[i].Name == name {
			return &t.Checks[i]
		}
	}
	t.Checks = append(t.Checks, checkTally{Name: name})
	return &t.Checks[len(t.Checks)-1]
}

// report prints the result. It returns the difference, if there is one.
func (t *tally) report(w io.Writer, asJSON bool) error {
	if t.Matches != 1 && t.Difference == nil {
		t.Match = ""
	}
	if asJSON {
		if err := json.NewEncoder(w).Encode(t); err != nil {
			return err
		}
	} else {
		t.print(w)
	}
	if t.Difference != nil {
		return &matchDifference{t.Match, t.Difference}
	}
	return nil
}

func (t *tally) print(w io.Writer) {
	for _, c := range t.Checks {
		switch {
		case t.Difference != nil && t.Difference.Check == c.Name:
		case c.Matches == 0:
			fmt.Fprintf(w, "%-12s not checked: %s\n", c.Name, c.Because)
		case c.Count == 0:
			fmt.Fprintf(w, "%-12s nothing to check\n", c.Name)
		case c.Because != "":
			fmt.Fprintf(w, "%-12s %d correct; %s\n", c.Name, c.Count, c.Because)
		default:
			fmt.Fprintf(w, "%-12s %d correct\n", c.Name, c.Count)
		}
	}
	t.printSeeds(w)
	switch {
	case t.Difference != nil:
		at := "in the record"
		if t.Difference.Seq > 0 {
			at = fmt.Sprintf("at seq %d", t.Difference.Seq)
		}
		fmt.Fprintf(w, "%-12s DIFFERS %s\n  the log has  %s\n  expected     %s\n", t.Difference.Check, at, t.Difference.Log, t.Difference.Follows)
	case t.Matches == 1:
		fmt.Fprintf(w, "match %s follows from its seed and its answers: %d events\n", t.Match, t.Events)
	default:
		fmt.Fprintf(w, "all %d matches follow from their seeds and answers: %d events\n", t.Matches, t.Events)
	}
}

// printSeeds prints who contributed to the seeds.
func (t *tally) printSeeds(w io.Writer) {
	for _, who := range slices.Sorted(maps.Keys(t.SeedFrom)) {
		of := ""
		if t.Matches > 1 {
			of = fmt.Sprintf(" (%d matches)", t.SeedFrom[who])
		}
		fmt.Fprintf(w, "%-12s %s%s\n", "seed from", who, of)
	}
}
