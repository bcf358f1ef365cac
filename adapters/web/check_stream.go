package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"hexarena/adapters/rest"
)

// A form that checks a bot's address takes seconds. The page's module sends the form
// with this type in Accept and gets a line-by-line answer: each step of the check as
// soon as it is done, and finally the next page or the refusal. Without the module, the
// answer is a single page after the check.
const checkStreamType = "application/x-ndjson"

// checkLine is one line of such an answer. One of its three fields is set, or none if
// the check does not lead to another page.
type checkLine struct {
	Step     *rest.Step    `json:"step,omitempty"`
	Location string        `json:"location,omitempty"`
	Refusal  *rest.Problem `json:"refusal,omitempty"`
}

// sendCheck is like send, for a call that checks a bot's address. If the client wants a
// line-by-line answer, sendCheck starts it; see pageRequest.line.
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

// followedAnswer is an answer of the API that passes on each step of a deploy check as
// soon as it is done. It implements rest.StepWriter.
type followedAnswer struct {
	*answer
	line func(checkLine)
}

func (a followedAnswer) WriteStep(s rest.Step) { a.line(checkLine{Step: &s}) }
