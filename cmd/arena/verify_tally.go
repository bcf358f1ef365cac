package main

import (
	"encoding/json"
	"fmt"
	"io"

	"hexarena/domain/audit"
)

// tally sums the reports of the matches that were verified.
type tally struct {
	Matches    int               `json:"matches"`
	Events     int               `json:"events"`
	Checks     []tallied         `json:"checks"`
	Match      string            `json:"match,omitempty"` // the one that was verified, or that differs
	Difference *audit.Difference `json:"difference,omitempty"`
}

// tallied is one check over all matches.
type tallied struct {
	Name    string `json:"name"`
	Matches int    `json:"matches"` // in which it was made
	Count   int    `json:"count"`   // of what was compared
	Because string `json:"because,omitempty"`
}

func (t *tally) add(r audit.Report) {
	t.Matches++
	t.Events += r.Events
	t.Match, t.Difference = r.Match, r.Difference
	for _, c := range r.Checks {
		one := t.of(c.Name)
		if c.Made {
			one.Matches++
		}
		one.Count += c.Count
		if c.Because != "" {
			one.Because = c.Because
		}
	}
}

func (t *tally) of(name string) *tallied {
	for i := range t.Checks {
		if t.Checks[i].Name == name {
			return &t.Checks[i]
		}
	}
	t.Checks = append(t.Checks, tallied{Name: name})
	return &t.Checks[len(t.Checks)-1]
}

// tell prints what was checked. Its error is the difference.
func (t *tally) tell(w io.Writer, asJSON bool) error {
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
		return &differs{t.Match, t.Difference}
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
			fmt.Fprintf(w, "%-12s none to check\n", c.Name)
		case c.Because != "":
			fmt.Fprintf(w, "%-12s %d as they should be; %s\n", c.Name, c.Count, c.Because)
		default:
			fmt.Fprintf(w, "%-12s %d as they should be\n", c.Name, c.Count)
		}
	}
	switch {
	case t.Difference != nil:
		where := "in the record"
		if t.Difference.Seq > 0 {
			where = fmt.Sprintf("at seq %d", t.Difference.Seq)
		}
		fmt.Fprintf(w, "%-12s DIFFERS %s\n  the log says  %s\n  what follows  %s\n", t.Difference.Check, where, t.Difference.Log, t.Difference.Follows)
	case t.Matches == 1:
		fmt.Fprintf(w, "match %s is what follows from its seed and its answers: %d events\n", t.Match, t.Events)
	default:
		fmt.Fprintf(w, "all %d matches are what follows from their seeds and answers: %d events\n", t.Matches, t.Events)
	}
}
