package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"hexarena/adapters/rest"
)

const (
	callTime = 30 * time.Second // time limit for the API's response to a call from a page
	formTime = 10 * time.Second // time limit for receiving a form
)

// Refusal is the error for a rejected call or form. It has the fields of the API's
// problem (RFC 9457).
type Refusal struct {
	rest.Problem
	after string // Retry-After
}

func (e *Refusal) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Detail) }

// Heading returns the heading of an error page.
func (e *Refusal) Heading() string {
	if h, ok := headings[e.Status]; ok {
		return h
	}
	return "This did not work"
}

// headings contains the headings of error pages. They are written for people, unlike
// HTTP's own status texts.
var headings = map[int]string{
	http.StatusUnauthorized:        "Please sign in",
	http.StatusForbidden:           "You may not do this",
	http.StatusNotFound:            "This page does not exist",
	http.StatusTooManyRequests:     "Please wait a moment",
	http.StatusInternalServerError: "Something went wrong",
	http.StatusServiceUnavailable:  "Try again in a moment",
}

// Summary returns the sentence above a rejected form. The steps of a deploy check
// name the cause themselves, and so do the messages at fields.
func (e *Refusal) Summary() string {
	switch {
	case len(e.Steps) > 0:
		return "The bot does not pass the deploy check."
	case !e.explainedAtFields():
		return sentence(e.Detail)
	case len(e.Errors) == 1:
		return "Correct the marked field."
	}
	return "Correct the marked fields."
}

// explainedAtFields reports whether the messages at fields repeat the detail.
func (e *Refusal) explainedAtFields() bool {
	for _, f := range e.Errors {
		if f.Field == "" || f.Message == e.Detail || !strings.Contains(e.Detail, f.Message) {
			return false
		}
	}
	return len(e.Errors) > 0
}

// For returns the error message for one field, or "" if the summary is enough.
func (e *Refusal) For(field string) string {
	if e == nil {
		return ""
	}
	for _, f := range e.Errors {
		if f.Field == field && f.Message != e.Detail {
			return f.Message
		}
	}
	return ""
}

// The function refused() returns a Refusal by the web server itself, not by the API.
func refused(status int, detail string) *Refusal {
	return &Refusal{Problem: rest.Problem{Status: status, Title: http.StatusText(status), Detail: detail}}
}

// get reads data for a page from the API, with the reader's cookie. The call
// does not count against the reader's rate limits. If the API rejects the call,
// the error is a *Refusal.
func (p *pageRequest) get(path string, into any) error {
	return p.call(p.server.Reads, http.MethodGet, path, nil, into)
}

// send makes the API call for a form, or a call that may be expensive. The parameters body and into may be nil. The call
// counts against the reader's rate limits. If the API rejects the call, the error is a
// *Refusal.
func (p *pageRequest) send(method, path string, body, into any) error {
	return p.call(p.server.API, method, path, body, into)
}

func (p *pageRequest) call(api http.Handler, method, path string, body, into any) error {
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	ctx, cancel := context.WithTimeout(p.r.Context(), callTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(encoded))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	r.Host, r.RemoteAddr, r.RequestURI = p.r.Host, p.r.RemoteAddr, r.URL.RequestURI()
	for _, name := range []string{"Cookie", "Origin", "Sec-Fetch-Site", "X-Forwarded-For"} {
		if values := p.r.Header.Values(name); values != nil {
			r.Header[name] = values
		}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	var w http.ResponseWriter = a
	if p.line != nil {
		w = followedAnswer{a, p.line}
	}
	api.ServeHTTP(w, r)
	for _, cookie := range a.header.Values("Set-Cookie") {
		p.w.Header().Add("Set-Cookie", cookie)
	}
	return a.read(method+" "+path, into)
}

// answer records a response from the API.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func (a *answer) read(call string, into any) error {
	if a.status >= http.StatusBadRequest {
		refusal := refused(a.status, "")
		refusal.after = a.header.Get("Retry-After")
		if err := json.Unmarshal(a.body.Bytes(), &refusal.Problem); err != nil {
			refusal.Detail = "The arena rejected this request."
		}
		return refusal
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(a.body.Bytes(), into); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}

// passToAPI passes a request to the API. If the client is a browser and the API
// responds with a problem, passToAPI sends an error page instead.
func (s *Server) passToAPI(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !prefersHTML(r.Header) {
		s.API.ServeHTTP(w, r)
		return
	}
	i := &interceptor{ResponseWriter: w}
	s.API.ServeHTTP(i, r)
	if i.problem == nil {
		return
	}
	w.Header().Del("Content-Encoding")
	p := &pageRequest{server: s, w: w, r: r}
	p.fail(i.problem.read(r.URL.Path, nil))
}

// interceptor passes a response on to the client. If the response is a problem, it
// stores the problem instead.
type interceptor struct {
	http.ResponseWriter
	problem *answer // nil: the response is passed on
}

// Unwrap lets the API set deadlines through http.ResponseController.
func (i *interceptor) Unwrap() http.ResponseWriter { return i.ResponseWriter }

func (i *interceptor) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(i.Header().Get("Content-Type"), "application/problem+json") {
		i.problem = &answer{header: i.Header(), status: status}
		return
	}
	i.ResponseWriter.WriteHeader(status)
}

func (i *interceptor) Write(b []byte) (int, error) {
	if i.problem != nil {
		return i.problem.Write(b)
	}
	return i.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, so that the API can stream to browsers.
func (i *interceptor) Flush() {
	if f, ok := i.ResponseWriter.(http.Flusher); ok && i.problem == nil {
		f.Flush()
	}
}
