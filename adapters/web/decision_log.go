package web

import (
	"net/http"
	"net/url"

	"hexarena/adapters/rest"
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

type logData struct {
	Bot       rest.Bot
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
	p.read(bot, &d.Bot)
	p.read(path, &d.Match)
	p.read(bot+path+"/decisions", &log)
	d.Decisions = log.Decisions
	for _, decision := range log.Decisions {
		if decision.Outcome != "played" {
			d.Refused = append(d.Refused, decision)
		}
	}
	return p.render(http.StatusOK, "log.html", d)
}
