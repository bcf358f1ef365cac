package client

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode"
)

// Refusal is an answer that is none: a problem (RFC 9457), or what a program
// between here and the arena says instead.
type Refusal struct {
	Status     int
	Code       string // stable; empty where it is not the arena that answered
	Detail     string
	RequestID  string
	RetryAfter string // seconds, where waiting may help
	Errors     []FieldError
	Body       []byte // as it came
}

// FieldError says what is wrong with one field.
type FieldError struct {
	In      string `json:"in"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error tells all of it in one line, without what a terminal would act on.
func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "refused (%d", r.Status)
	if r.Code != "" {
		b.WriteString(" " + r.Code)
	}
	b.WriteString("): " + r.Detail)
	for _, e := range r.Errors {
		if e.Field != "" && !strings.Contains(r.Detail, e.Message) {
			fmt.Fprintf(&b, "; %s %s", e.Field, e.Message)
		}
	}
	if r.RetryAfter != "" {
		fmt.Fprintf(&b, "; try again in %s s", r.RetryAfter)
	}
	if r.Status >= http.StatusInternalServerError && r.RequestID != "" {
		b.WriteString(" (request " + r.RequestID + ")")
	}
	return OneLine(b.String())
}

// refusalOf reads a refusal.
func refusalOf(response *http.Response, body []byte) error {
	r := &Refusal{
		Status: response.StatusCode, Body: body,
		RetryAfter: response.Header.Get("Retry-After"), RequestID: response.Header.Get("X-Request-Id"),
	}
	var problem struct {
		Code      string       `json:"code"`
		Title     string       `json:"title"`
		Detail    string       `json:"detail"`
		RequestID string       `json:"requestId"`
		Errors    []FieldError `json:"errors"`
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil && kind == "application/problem+json" &&
		json.Unmarshal(body, &problem) == nil {
		r.Code, r.Detail, r.Errors = problem.Code, problem.Detail, problem.Errors
		if problem.RequestID != "" {
			r.RequestID = problem.RequestID
		}
		if r.Detail == "" {
			r.Detail = problem.Title
		}
		return r
	}
	r.Detail = notTheArena(response, body)
	return r
}

// maxShown is how much of a text that is no problem is shown.
const maxShown = 200

// notTheArena says what came instead of a problem.
func notTheArena(response *http.Response, body []byte) string {
	status := http.StatusText(response.StatusCode)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		text := strings.TrimSpace(string(body[:min(len(body), maxShown)]))
		return status + ": " + text
	}
	return status + ": this is not an arena's answer"
}

// OneLine keeps what a terminal shows as it stands: whoever named a bot or runs
// a server chose the text.
func OneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)), " ")
}
