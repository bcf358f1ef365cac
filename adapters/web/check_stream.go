package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// A form that has a bot's address checked takes seconds. A page's module sends
// it with this type to be accepted, and is answered line by line: each step of
// the check as it is done, and last where to go on, or what was refused. Without
// the module the form is answered at the end, as any other.
const followed = "application/x-ndjson"

// followLine is a line of such an answer: one of the three.
type followLine struct {
	Step     *Step    `json:"step,omitempty"`
	Location string   `json:"location,omitempty"`
	Refusal  *Refusal `json:"refusal,omitempty"`
}

type followKey struct{}

// Follow shows a step of a deploy check to who follows the call that it is made
// in, if anyone does.
func Follow(ctx context.Context, s Step) {
	if show, ok := ctx.Value(followKey{}).(func(Step)); ok {
		show(s)
	}
}

// following says whether the form wants to be answered line by line.
func (p *pageRequest) following() bool { return strings.HasPrefix(p.r.Header.Get("Accept"), followed) }

// follow makes a form's call, whose answer goes to into, and answers with its
// steps as they are done; then says where to go on.
func (p *pageRequest) follow(method, path string, body, into any, next func() string) error {
	h := p.w.Header()
	h.Set("Content-Type", followed)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	lines, flush := json.NewEncoder(p.w), http.NewResponseController(p.w).Flush
	show := func(l followLine) {
		_ = lines.Encode(l) // who went away needs no line
		_ = flush()
	}
	p.r = p.r.WithContext(context.WithValue(p.r.Context(), followKey{}, func(s Step) { show(followLine{Step: &s}) }))
	err := p.send(method, path, body, into)
	if r, ok := refusalOf(err); ok {
		show(followLine{Refusal: r})
		return nil
	}
	if err != nil {
		p.server.Logger.Error("form failed", "path", p.r.URL.Path, "error", err)
		show(followLine{Refusal: refused(http.StatusInternalServerError, "Something went wrong on our side. It has been logged.")})
		return nil
	}
	show(followLine{Location: next()})
	return nil
}
