package conformance

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// The results of a check.
const (
	Passed     = "passed"
	Failed     = "failed"
	Advice     = "advice"     // the bot follows the protocol, but could do better
	NotChecked = "notChecked" // Detail says why
)

// Report is the result of all checks, as --json prints it.
type Report struct {
	Bot         string  `json:"bot"`
	Passed      int     `json:"passed"`
	Failed      int     `json:"failed"`
	Advice      int     `json:"advice"`
	NotChecked  int     `json:"notChecked"`
	Seconds     float64 `json:"seconds"`
	Interrupted bool    `json:"interrupted"`
	Checks      []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Result    string     `json:"result"`
	Breaks    string     `json:"breaks,omitempty"` // the consequence of a failure
	Detail    string     `json:"detail,omitempty"`
	Failures  int        `json:"failures,omitempty"`
	Exchanges []Exchange `json:"exchanges,omitempty"` // the first failures

	passes int
}

// Exchange is a request that the bot did not answer well.
type Exchange struct {
	MatchID string `json:"matchId"`
	Kind    string `json:"kind"`
	Request string `json:"request"`
	Answer  string `json:"answer"` // the beginning of the answer; "" if there was none
	Code    string `json:"code"`   // of the fault, or of the rule that the answer breaks
	Reason  string `json:"reason"`
}

const (
	keptExchanges = 3
	keptAnswer    = 4096
)

func newReport(bot string) *Report {
	r := &Report{Bot: bot}
	for _, c := range checks {
		r.Checks = append(r.Checks, Check{ID: c.id, Title: c.title})
	}
	return r
}

func (r *Report) check(id string) *Check {
	for i := range r.Checks {
		if r.Checks[i].ID == id {
			return &r.Checks[i]
		}
	}
	panic("no check " + id)
}

func (r *Report) failed(id string) bool { return r.check(id).Failures > 0 }

func (r *Report) pass(id string) { r.check(id).passes++ }

func (r *Report) skip(id, why string) {
	if c := r.check(id); c.passes == 0 && c.Failures == 0 && c.Detail == "" {
		c.Detail = why
	}
}

// advise stores advice, unless the check already has some.
func (r *Report) advise(id, text string) {
	if c := r.check(id); c.Result == "" {
		c.Result, c.Detail = Advice, text
	}
}

func (r *Report) fail(id string, e Exchange) {
	c := r.check(id)
	if c.Failures++; len(c.Exchanges) < keptExchanges {
		c.Exchanges = append(c.Exchanges, e)
	}
}

// finish decides the results. A check that looks at every answer has passed if the bot
// answered at all. The text down says why the bot cannot be reached, if it cannot.
func (r *Report) finish(took time.Duration, interrupted bool, down string) {
	r.Seconds, r.Interrupted = took.Seconds(), interrupted
	answered := false
	for _, kind := range kinds {
		answered = answered || r.check(kind).passes > 0
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		everyAnswer := i > 1 && c.passes == 0 && answered && isForm(c.ID)
		switch {
		case c.Failures > 0:
			c.Result, c.Breaks, c.Detail = Failed, checks[i].breaks, ""
			r.Failed++
		case c.Result == Advice:
			r.Advice++
		case c.passes > 0 || everyAnswer:
			c.Result = Passed
			r.Passed++
		default:
			c.Result = NotChecked
			if r.NotChecked++; c.Detail == "" {
				c.Detail = cmp.Or(down, "an earlier check failed, so this one would mean nothing")
				if interrupted {
					c.Detail = "the run was stopped"
				}
			}
		}
	}
}

// isForm reports whether a check looks at every answer.
func isForm(id string) bool {
	if id == "once" {
		return true
	}
	for _, form := range formChecks {
		if form == id {
			return true
		}
	}
	return false
}

// words are the results in the report for people.
var words = map[string]string{Passed: "passed", Failed: "FAILED", Advice: "advice", NotChecked: "not checked"}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%-12s%-11s%s\n", words[c.Result], c.ID, c.Title)
		if c.Detail != "" && c.Result != Passed {
			fmt.Fprintf(&b, "%23s%s\n", "", c.Detail)
		}
		if c.Result != Failed {
			continue
		}
		fmt.Fprintf(&b, "%23s%s: %s\n", "", times(c.Failures), c.Breaks)
		for _, e := range c.Exchanges {
			fmt.Fprintf(&b, "%23sreason   %s\n", "", e.Reason)
			if e.Request != "" {
				fmt.Fprintf(&b, "%23srequest  %s\n%23sanswer   %s\n", "", shortRequest(e.Request), "", shortAnswer(e.Answer))
			}
		}
	}
	fmt.Fprintf(&b, "\n%s: %d passed, %d failed, %d with advice, %d not checked, in %.1f s\n", r.Bot, r.Passed, r.Failed, r.Advice, r.NotChecked, r.Seconds)
	_, err := io.WriteString(w, b.String())
	return err
}

func times(n int) string {
	if n == 1 {
		return "1 case"
	}
	return fmt.Sprintf("%d cases", n)
}

const shownAnswer = 300

func shortAnswer(answer string) string {
	switch {
	case answer == "":
		return "(none)"
	case len(answer) <= shownAnswer:
		return answer
	}
	cut := shownAnswer
	for !utf8.RuneStart(answer[cut]) {
		cut--
	}
	return answer[:cut] + "…"
}
