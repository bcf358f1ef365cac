package practice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"hexarena/adapters/client"
	"hexarena/domain/game"
)

// verdict is the result of comparing one answer with the recorded one.
type verdict string

// The verdicts.
const (
	same      verdict = "same"
	different verdict = "different"
	illegal   verdict = "illegal" // or malformed
	late      verdict = "late"
)

// maxListed is how many differences the text lists. --json lists all.
const maxListed = 20

// comparison is the comparison of one answer with the recorded one.
type comparison struct {
	Match    string          `json:"match"`
	Seat     int             `json:"seat"`
	Decision int             `json:"decision"`
	Seq      int             `json:"seq"` // of the event that closed the decision
	Turn     int             `json:"turn"`
	Kind     string          `json:"kind"`
	Verdict  verdict         `json:"verdict"`
	Reason   string          `json:"reason,omitempty"` // why the answer is illegal or late
	Outcome  string          `json:"outcome"`          // of the recorded answer: played, timeout or illegal
	Then     json.RawMessage `json:"then"`             // the action that was played: the recorded answer, or the default
	Now      json.RawMessage `json:"now"`              // the new action; the whole answer as a string if it is illegal; null if it is late
	Link     string          `json:"link"`

	base string // of the link
	talk bool   // whether only the talk differs
}

// counts counts comparisons by verdict.
type counts struct {
	Requests  int `json:"requests"`
	Same      int `json:"same"`
	Different int `json:"different"`
	Illegal   int `json:"illegal"`
	Late      int `json:"late"`
	Talk      int `json:"talk"` // of the same answers, those with other talk
}

func (n *counts) add(c comparison) {
	n.Requests++
	switch c.Verdict {
	case same:
		n.Same++
	case different:
		n.Different++
	case illegal:
		n.Illegal++
	case late:
		n.Late++
	}
	if c.talk {
		n.Talk++
	}
}

// regressReport is the result of a run, as --json prints it.
type regressReport struct {
	Bot         string  `json:"bot"`
	Spec        string  `json:"spec"`
	Records     int     `json:"records"`
	Interrupted bool    `json:"interrupted"`
	Seconds     float64 `json:"seconds"`
	counts
	Kinds       []kindReport `json:"kinds"`
	Differences []comparison `json:"differences"` // all answers that are not the same
}

// kindReport counts the decisions of one kind.
type kindReport struct {
	Kind string `json:"kind"`
	counts
}

// add adds the comparisons of one record.
func (r *regressRun) add(found []comparison) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.total
	t.Records++
	for _, c := range found {
		t.add(c)
		at := slices.IndexFunc(t.Kinds, func(k kindReport) bool { return k.Kind == c.Kind })
		if at < 0 {
			at = len(t.Kinds)
			t.Kinds = append(t.Kinds, kindReport{Kind: c.Kind})
		}
		t.Kinds[at].add(c)
		if c.Verdict != same {
			c.Link = fmt.Sprintf("%s/watch/%s#%d", strings.TrimSuffix(cmp.Or(c.base, r.cmd.Viewer), "/"), c.Match, c.Seq)
			t.Differences = append(t.Differences, c)
		}
	}
}

func (r *regressRun) report(interrupted bool) regressReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.total
	t.Interrupted = interrupted
	order := func(k kindReport) int {
		kind, _ := game.ParseKind(k.Kind)
		return int(kind)
	}
	slices.SortFunc(t.Kinds, func(a, b kindReport) int { return order(a) - order(b) })
	slices.SortFunc(t.Differences, func(a, b comparison) int {
		return cmp.Or(strings.Compare(a.Match, b.Match), a.Seq-b.Seq)
	})
	return t
}

func (r regressReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d requests of %d records to %s: %.1f %% same\n\n", r.Requests, r.Records, r.Bot, percent(r.Same, r.Requests))
	r.printKinds(&text)
	if r.Talk > 0 {
		fmt.Fprintf(&text, "\n%d of the same answers have other talk\n", r.Talk)
	}
	r.printDifferences(&text)
	_, err := io.WriteString(out, text.String())
	return err
}

func (r regressReport) printKinds(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kind\trequests\tsame\tdifferent\tillegal\tlate")
	for _, k := range append(slices.Clone(r.Kinds), kindReport{"all", r.counts}) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", k.Kind, k.Requests, k.Same, k.Different, k.Illegal, k.Late)
	}
	_ = w.Flush() // writing to memory does not fail
}

func (r regressReport) printDifferences(w io.Writer) {
	for i, c := range r.Differences {
		if i == maxListed {
			fmt.Fprintf(w, "\n… and %d more; --json lists all\n", len(r.Differences)-maxListed)
			return
		}
		then := client.OneLine(string(c.Then))
		if c.Outcome != "played" {
			then += " (the default after: " + c.Outcome + ")"
		}
		fmt.Fprintf(w, "\n%s: decision %d (%s), turn %d, %s\n  then  %s\n", c.Verdict, c.Decision, c.Kind, c.Turn, c.Link, then)
		if c.Now != nil {
			fmt.Fprintf(w, "  now   %s\n", client.OneLine(string(c.Now)))
		}
		if c.Reason != "" {
			fmt.Fprintf(w, "  why   %s\n", c.Reason)
		}
	}
}
