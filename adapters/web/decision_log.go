package web

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
)

// decision is one entry of the owner's private log.
type decision struct {
	ID        int             `json:"id"`
	Seq       int             `json:"seq"`
	Kind      string          `json:"kind"`
	At        string          `json:"at"`
	Request   decisionRequest `json:"request"`
	Answer    *string         `json:"answer"`
	ElapsedMs *int64          `json:"elapsedMs"`
	Outcome   string          `json:"outcome"`
	Cause     *string         `json:"cause"`
	Reason    *string         `json:"reason"`
	Message   *string         `json:"message"`
	Played    json.RawMessage `json:"played"`
}

type decisionRequest struct {
	View position `json:"view"`
}

// Why explains why an answer was rejected.
func (d decision) Why() string {
	switch {
	case d.Message != nil && *d.Message != "":
		return *d.Message
	case d.Cause != nil:
		return causes[*d.Cause]
	}
	return ""
}

// Code returns the code of the reason or the cause.
func (d decision) Code() string {
	switch {
	case d.Reason != nil:
		return *d.Reason
	case d.Cause != nil:
		return *d.Cause
	}
	return ""
}

// Did returns the played action as JSON.
func (d decision) Did() string { return string(d.Played) }

// causes explains the causes in docs/protocol.md, "timeout or illegal".
var causes = map[string]string{
	"deadline": "the answer came too late or not at all", "dropped": "the connection was lost, or did not open in time",
	"malformed": "the message is not a well-formed answer", "oversized": "the message has more than 65,536 bytes",
}

// refusedDecision is a decision that cost a strike, with the board as the bot saw it.
type refusedDecision struct {
	decision
	Board template.HTML
}

type logData struct {
	Bot       bot
	Match     summary
	Decisions []decision
	Refused   []refusedDecision
}

// decisionLog shows an owner the decisions of a bot in a match: each question and
// answer, and why an answer was rejected.
func (p *pageRequest) decisionLog() error {
	p.private = true
	var d logData
	id, matchID := url.PathEscape(p.r.PathValue("id")), url.PathEscape(p.r.PathValue("match"))
	if err := p.get("/bots/"+id, &d.Bot); err != nil {
		return err
	}
	if err := p.get("/matches/"+matchID, &d.Match); err != nil {
		return err
	}
	var log struct {
		Decisions []decision `json:"decisions"`
	}
	if err := p.get("/bots/"+id+"/matches/"+matchID+"/decisions", &log); err != nil {
		return err
	}
	d.Decisions = log.Decisions
	for _, decided := range log.Decisions {
		if decided.Outcome != "played" {
			d.Refused = append(d.Refused, refusedDecision{decided, positionSVG(decided.Request.View)})
		}
	}
	return p.render(http.StatusOK, "log.html", d)
}
