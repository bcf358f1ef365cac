package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"

	"hexarena/adapters/rest"
	"hexarena/domain/match"
)

// The function indented() formats a request for a page. Table talk may contain
// characters that change the direction of text, so it is cleaned before the line breaks
// are added.
func indented(r *match.Request) (string, error) {
	var text bytes.Buffer
	err := json.Indent(&text, []byte(clean(string(r.AppendJSON(nil)))), "", "  ")
	return text.String(), err
}

type logData struct {
	Bot       player
	Match     summary
	Decisions []rest.Decision
	Refused   []rest.Decision // the decisions that caused a strike

	rest.Notes // only in a viewer
}

// NoteOn returns the note about a decision, or "".
func (d logData) NoteOn(decision int) (string, error) { return noteText(d.Notes.Notes[decision]) }

// The function outcome() names the outcome of a decision on pages. The API calls every
// decision without a usable answer a timeout, even if the answer came in time.
func outcome(d rest.Decision) string {
	if d.Cause == nil {
		return d.Outcome
	}
	switch *d.Cause {
	case match.CauseDropped:
		return "no connection"
	case match.CauseMalformed:
		return "unreadable"
	case match.CauseOversized:
		return "too large"
	}
	if d.Late != nil {
		return "late"
	}
	return "no answer"
}

// decisionLog shows an owner the decisions of a bot in a match: each request, its
// answer, and why an answer was rejected.
func (p *pageRequest) decisionLog() error {
	var d logData
	var log rest.Decisions
	bot, path := "/bots/"+url.PathEscape(p.r.PathValue("id")), "/matches/"+url.PathEscape(p.r.PathValue("match"))
	p.read(bot+path+"/decisions", &log)
	p.read(path, &d.Match)
	if p.server.local {
		p.read(path+"/notes", &d.Notes)
	}
	d.Bot = playerOf(d.Match, p.r.PathValue("id"))
	d.Decisions = log.Decisions
	for _, decision := range log.Decisions {
		if decision.Outcome != "played" {
			d.Refused = append(d.Refused, decision)
		}
	}
	return p.render(http.StatusOK, "log.html", d)
}
