package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// callTime is how long the API may work on a call from within.
	callTime = 30 * time.Second
	// formTime is how long a form may take to come.
	formTime = 10 * time.Second
)

// Refusal is what the API, or a page itself, refuses: the fields of an RFC 9457
// problem as the API writes it.
type Refusal struct {
	Status    int          `json:"status"`
	Title     string       `json:"title"`
	Code      string       `json:"code"`
	Detail    string       `json:"detail"`
	RequestID string       `json:"requestId"`
	Errors    []FieldError `json:"errors"`
	Steps     []Step       `json:"steps"`

	after string // Retry-After
}

// FieldError says what is wrong with one field of a form.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Step is one step of a deploy check.
type Step struct {
	Name      string `json:"name"`
	OK        bool   `json:"ok"`
	Detail    string `json:"detail"`
	ElapsedMs int64  `json:"elapsedMs"`
}

func (e *Refusal) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Detail) }

// For is what is wrong with one field, or nothing.
func (e *Refusal) For(field string) string {
	if e == nil {
		return ""
	}
	for _, f := range e.Errors {
		if f.Field == field {
			return f.Message
		}
	}
	return ""
}

// refused is a refusal of a page's own.
func refused(status int, detail string) *Refusal {
	return &Refusal{Status: status, Title: http.StatusText(status), Detail: detail}
}

// get asks the API for what a page shows, as its reader: with the reader's
// cookie, and not counted against the reader's limits. What is refused is a
// *Refusal.
func (p *pageRequest) get(path string, into any) error {
	return p.call(p.server.Reads, http.MethodGet, path, nil, into)
}

// send makes the call that a form stands for; body and into may be nil. It
// counts as the reader's own call.
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
	api.ServeHTTP(a, r)
	for _, cookie := range a.header.Values("Set-Cookie") {
		p.w.Header().Add("Set-Cookie", cookie)
	}
	return a.read(method+" "+path, into)
}

// answer is what the API answers, kept.
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
		refusal := &Refusal{Status: a.status, Title: http.StatusText(a.status), after: a.header.Get("Retry-After")}
		if err := json.Unmarshal(a.body.Bytes(), refusal); err != nil {
			refusal.Detail = "The arena refuses this."
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

// elsewhere hands a request to the API. Where a person reads the answer, a
// refusal is shown as a page.
func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !prefersHTML(r.Header) {
		s.API.ServeHTTP(w, r)
		return
	}
	i := &interceptor{ResponseWriter: w}
	s.API.ServeHTTP(i, r)
	if !i.held {
		return
	}
	a := answer{header: w.Header(), status: i.status, body: i.body}
	w.Header().Del("Content-Encoding")
	p := &pageRequest{server: s, w: w, r: r}
	p.fail(a.read(r.URL.Path, nil))
}

// interceptor passes an answer on, but for a problem, which it holds back.
type interceptor struct {
	http.ResponseWriter
	held   bool
	status int
	body   bytes.Buffer
}

// Unwrap lets the API set deadlines and flush streams.
func (i *interceptor) Unwrap() http.ResponseWriter { return i.ResponseWriter }

func (i *interceptor) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(i.Header().Get("Content-Type"), "application/problem+json") {
		i.held, i.status = true, status
		return
	}
	i.ResponseWriter.WriteHeader(status)
}

func (i *interceptor) Write(b []byte) (int, error) {
	if i.held {
		return i.body.Write(b)
	}
	return i.ResponseWriter.Write(b)
}

// Flush lets the API stream to a browser.
func (i *interceptor) Flush() {
	if f, ok := i.ResponseWriter.(http.Flusher); ok && !i.held {
		f.Flush()
	}
}

// form reads what a browser sent from a page of the arena's own.
func (p *pageRequest) form() (url.Values, error) {
	if err := p.server.crossSite.Check(p.r); err != nil {
		return nil, &Refusal{Status: http.StatusForbidden, Title: "Forbidden", Code: "cross_site", Detail: "The form was sent from another site."}
	}
	deadline := http.NewResponseController(p.w)
	_ = deadline.SetReadDeadline(time.Now().Add(formTime)) // not every test's writer has one
	body, err := io.ReadAll(http.MaxBytesReader(p.w, p.r.Body, maxForm))
	_ = deadline.SetReadDeadline(time.Time{})
	if err == nil && sendsForm(p.r.Header) {
		if values, err := url.ParseQuery(string(body)); err == nil {
			return values, nil
		}
	}
	return nil, refused(http.StatusBadRequest, "The form could not be read.")
}
