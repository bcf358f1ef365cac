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

// checkLine is a line of such an answer. It has one of the three fields, or none if the
// check does not lead to another page.
type checkLine struct {
	Step     *rest.Step    `json:"step,omitempty"`
	Location string        `json:"location,omitempty"`
	Refusal  *rest.Problem `json:"refusal,omitempty"`
}

// sendCheck is send for a call that checks a bot's address. If the client wants an
// answer line by line, the answer begins: see pageRequest.line.
func (p *pageRequest) sendCheck(method, path string, body, into any) error {
	if strings.HasPrefix(p.r.Header.Get("Accept"), checkStreamType) {
		h := p.w.Header()
		h.Set("Content-Type", checkStreamType)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		lines, flush := json.NewEncoder(p.w), http.NewResponseController(p.w).Flush
		p.line = func(l checkLine) {
			_ = lines.Encode(l) // fails only if the client left
			_ = flush()
		}
	}
	return p.send(method, path, body, into)
}

// followedAnswer is an answer of the API that passes on each step of a deploy check
// when it is done. It implements rest.StepWriter.
type followedAnswer struct {
	*answer
	line func(checkLine)
}

func (a followedAnswer) WriteStep(s rest.Step) { a.line(checkLine{Step: &s}) }
