package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"hexarena/adapters/rest"
)

// A form that checks a bot's address takes seconds. The module of the page sends it
// with this type in Accept and gets an answer line by line: each step of the check when
// it is done, and last the next page or the refusal. Without the module, the answer is
// one page after the check.
const checkStreamType = "application/x-ndjson"

// checkLine is a line of such an answer. It has one of the three fields.
type checkLine struct {
	Step     *rest.Step    `json:"step,omitempty"`
	Location string        `json:"location,omitempty"`
	Refusal  *rest.Problem `json:"refusal,omitempty"`
}

// followingAnswer is an answer of the API that passes on each step of a deploy
// check when it is done. It implements rest.StepWriter.
type followingAnswer struct {
	*answer
	onStep func(rest.Step)
}

func (a followingAnswer) WriteStep(s rest.Step) { a.onStep(s) }

// following reports whether the client wants an answer line by line.
func (p *pageRequest) following() bool {
	return strings.HasPrefix(p.r.Header.Get("Accept"), checkStreamType)
}

// follow makes the call for a form, writes each step when it is done, and then the path
// that next returns. into receives the API's answer.
func (p *pageRequest) follow(method, path string, body, into any, next func() string) error {
	h := p.w.Header()
	h.Set("Content-Type", checkStreamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	lines, flush := json.NewEncoder(p.w), http.NewResponseController(p.w).Flush
	show := func(l checkLine) {
		_ = lines.Encode(l) // fails only if the client left
		_ = flush()
	}
	p.onStep = func(s rest.Step) { show(checkLine{Step: &s}) }
	err := p.send(method, path, body, into)
	if r, ok := refusalOf(err); ok {
		show(checkLine{Refusal: &r.Problem})
		return nil
	}
	if err != nil {
		p.server.Logger.Error("form failed", "path", p.r.URL.Path, "error", err)
		show(checkLine{Refusal: &refused(http.StatusInternalServerError, "Something went wrong on our side, and we logged it. Try again in a moment.").Problem})
		return nil
	}
	show(checkLine{Location: next()})
	return nil
}
