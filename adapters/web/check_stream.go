package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"hexarena/adapters/rest"
)

// A deploy check takes seconds. If a form starts a check, the page's module sends the
// form with this content type in Accept, and gets a line-by-line response. The response
// has a line for each step, sent as soon as the step is done. The last line contains
// the next page or the refusal. Without the module, the response is a single page, sent
// after the check.
const checkStreamType = "application/x-ndjson"

// checkLine is one line of a line-by-line response. At most one of its fields is set.
// If the check leads to no other page, the last line has no field.
type checkLine struct {
	Step     *rest.Step    `json:"step,omitempty"`
	Location string        `json:"location,omitempty"`
	Refusal  *rest.Problem `json:"refusal,omitempty"`
}

// sendCheck is like send(), but for a call that makes a deploy check. If the client
// wants a line-by-line response, sendCheck starts that response; see pageRequest.line.
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

// followedAnswer records a response from the API. It also passes on each step of a
// deploy check as soon as the step is done, because it implements rest.StepWriter.
type followedAnswer struct {
	*answer
	line func(checkLine)
}

func (a followedAnswer) WriteStep(s rest.Step) { a.line(checkLine{Step: &s}) }
