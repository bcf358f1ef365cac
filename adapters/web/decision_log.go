package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"hexarena/adapters/rest"
	"hexarena/domain/board"
	"hexarena/domain/match"
)

// why explains why an answer was rejected.
func why(d rest.Decision) string {
	switch {
	case d.Message != nil && *d.Message != "":
		return *d.Message
	case d.Fault != nil:
		return d.Fault.Message
	case d.Request != nil && d.Request.DeadlineMs == 0 && d.Cause != nil && *d.Cause == match.CauseDeadline:
		return "the bot had no time left in this match, so the arena did not ask it"
	case d.Cause != nil:
		return causes[*d.Cause]
	}
	return ""
}

// causes explains each cause that is listed under "timeout or illegal" in
// docs/protocol.md.
var causes = map[string]string{
	"deadline": "the answer came too late or not at all", "dropped": "the connection was lost, or did not open in time",
	"malformed": "the message is not a well-formed answer", "oversized": "the message has more than 65,536 bytes",
}

// cards lists the cards of a hand.
func cards(hand match.Counts) string {
	var list []string
	for r, n := range hand {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, board.Resource(r)))
		}
	}
	if len(list) == 0 {
		return "no cards"
	}
	return strings.Join(list, ", ")
}

// indented formats a request for a page. Table talk may contain characters that
// change the direction of text, so it is cleaned before the line breaks are added.
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
}

// decisionLog shows an owner the decisions of a bot in a match: each request, its
// answer, and why an answer was rejected.
func (p *pageRequest) decisionLog() error {
	var d logData
	var log rest.Decisions
	bot, path := "/bots/"+url.PathEscape(p.r.PathValue("id")), "/matches/"+url.PathEscape(p.r.PathValue("match"))
	p.read(bot+path+"/decisions", &log)
	p.read(path, &d.Match)
	d.Bot = playerOf(d.Match, p.r.PathValue("id"))
	d.Decisions = log.Decisions
	for _, decision := range log.Decisions {
		if decision.Outcome != "played" {
			d.Refused = append(d.Refused, decision)
		}
	}
	return p.render(http.StatusOK, "log.html", d)
}
