package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode"

	"hexarena/adapters/rest"
)

// Refusal is the error that a refused call returns. It contains the arena's problem
// (RFC 9457). If the response came from another program, such as a proxy, Code is
// empty.
type Refusal struct {
	rest.Problem
	RetryAfter string // seconds; empty if waiting does not help
	Body       []byte // unchanged
}

// Error describes the refusal in one line, without control characters.
func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "refused (%d", r.Status)
	if r.Code != "" {
		b.WriteString(" " + r.Code)
	}
	b.WriteString("): " + r.detailAndWait())
	for _, e := range r.Errors {
		if e.Field != "" && !strings.Contains(r.Detail, e.Message) {
			fmt.Fprintf(&b, "; %s %s", e.Field, e.Message)
		}
	}
	if r.Status >= http.StatusInternalServerError && r.RequestID != "" {
		b.WriteString(" (request " + r.RequestID + ")")
	}
	return OneLine(b.String())
}

// detailAndWait returns the detail, followed by how long to wait. The arena's own
// detail about a rate limit already contains the time.
func (r *Refusal) detailAndWait() string {
	if r.RetryAfter == "" || strings.Contains(r.Detail, "try again in ") {
		return r.Detail
	}
	detail, _, _ := strings.Cut(r.Detail, ": try again") // the exact time below replaces this advice
	return detail + "; try again in " + r.RetryAfter + " s"
}

// refusalOf decodes a refusal.
func refusalOf(response *http.Response, body []byte) error {
	var p rest.Problem
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || kind != rest.ProblemType || json.Unmarshal(body, &p) != nil {
		p = rest.Problem{Detail: foreignAnswer(response, body)}
	}
	p.Status = response.StatusCode
	p.RequestID = cmp.Or(p.RequestID, response.Header.Get("X-Request-Id"))
	p.Detail = cmp.Or(p.Detail, p.Title)
	return &Refusal{Problem: p, RetryAfter: response.Header.Get("Retry-After"), Body: body}
}

// maxShown is the maximum length, in bytes, of another program's text in an error
// message.
const maxShown = 1 << 10

// foreignAnswer describes a response whose body is not an arena's problem (RFC 9457).
func foreignAnswer(response *http.Response, body []byte) string {
	status := http.StatusText(response.StatusCode)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		text := strings.TrimSpace(string(body[:min(len(body), maxShown)]))
		return status + ": " + text
	}
	return status + ": the response does not come from an arena"
}

// OneLine replaces line breaks and control characters with spaces. This makes
// text from other people, such as bot names, safe to print on a terminal.
func OneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)), " ")
}
