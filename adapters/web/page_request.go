package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pageRequest is one request for a page, on its way to its answer.
type pageRequest struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request

	private    bool // shows what is the reader's alone: never compressed, never kept
	embeddable bool // other sites may show it in a frame
}

const (
	pageTime = 30 * time.Second // that a reader may take to take a page
	maxForm  = 64 << 10
)

// visit runs a handler, and shows what it refuses.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, h handler) {
	p := &pageRequest{server: s, w: w, r: r}
	// Not every test's writer has a deadline.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(callTime + pageTime))
	defer func() {
		if reason := recover(); reason != nil {
			if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(reason)
			}
			p.fail(fmt.Errorf("panic: %v", reason))
		}
	}()
	if wait := s.Count(w.Header(), r); wait > 0 {
		p.fail(&Refusal{Status: http.StatusTooManyRequests, Title: "Too many calls", after: strconv.Itoa(wait),
			Detail: fmt.Sprintf("Too many pages and calls from your address within a minute: try again in %d s.", wait)})
		return
	}
	if err := h(p); err != nil {
		p.fail(err)
	}
}

// fail shows an error as a page.
func (p *pageRequest) fail(err error) {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		p.server.Logger.Error("page failed", "path", p.r.URL.Path, "error", err)
		refusal = refused(http.StatusInternalServerError, "Something went wrong on our side. It has been logged; try again in a moment.")
	}
	if refusal.Code == "unauthenticated" {
		_ = p.seeOther("/sign-in")
		return
	}
	if refusal.after != "" {
		p.w.Header().Set("Retry-After", refusal.after)
	}
	if err := p.render(refusal.Status, "error.html", refusal); err != nil {
		p.server.Logger.Error("error page failed", "error", err)
		http.Error(p.w, "internal error", http.StatusInternalServerError)
	}
}

// Page is what every template is given: Data is the page's own.
type Page struct {
	Path, Theme, Origin string
	SignedIn            bool // there is a session's cookie; it may have ended
	Status              int
	Data                any
}

// render answers with a page of templates/. It is whole before its first byte
// is sent.
func (p *pageRequest) render(status int, name string, data any) error {
	t, ok := p.server.templates[name]
	if !ok {
		return fmt.Errorf("there is no template %q", name)
	}
	var b bytes.Buffer
	page := Page{Path: p.r.URL.RequestURI(), Theme: theme(p.r), Origin: p.server.origin, SignedIn: hasSession(p.r), Status: status, Data: data}
	if err := t.ExecuteTemplate(&b, "layout", page); err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	p.write(status, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// write answers with what a browser may show, under the pages' policy.
func (p *pageRequest) write(status int, kind string, content []byte) {
	h := p.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", policy(p.embeddable))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	if h.Get("Referrer-Policy") == "" {
		h.Set("Referrer-Policy", "same-origin")
	}
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	if p.private || len(content) < minCompressed {
		p.w.WriteHeader(status)
		_, _ = p.w.Write(content) // who went away needs no page
		return
	}
	h.Add("Vary", "Accept-Encoding")
	if !acceptsGzip(p.r.Header) {
		p.w.WriteHeader(status)
		_, _ = p.w.Write(content)
		return
	}
	h.Set("Content-Encoding", "gzip")
	p.w.WriteHeader(status)
	z := gzip.NewWriter(p.w)
	_, _ = z.Write(content)
	_ = z.Close()
}

// seeOther answers a form: the browser goes on to a page.
func (p *pageRequest) seeOther(path string) error {
	p.w.Header().Set("Cache-Control", "no-store")
	p.w.Header().Set("Location", path)
	p.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// policy lets a page load what the arena serves and nothing else; there is no
// script or style in the page itself.
func policy(embeddable bool) string {
	ancestors := "'none'"
	if embeddable {
		ancestors = "*"
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors " + ancestors
}

// minCompressed is how many bytes an answer has at least to be compressed:
// fewer fit a packet anyway.
const minCompressed = 1400

// acceptsGzip says whether a browser takes gzip. A program that weighs it down
// to nothing in an unusual way gets the plain text, which it can read as well.
func acceptsGzip(h http.Header) bool {
	for item := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, parameter, weighed := strings.Cut(item, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			return !weighed || strings.ContainsAny(parameter, "123456789")
		}
	}
	return false
}

// prefersHTML says whether a person reads the answer: a browser names HTML, and
// weighs it at least as much as JSON.
func prefersHTML(h http.Header) bool {
	html, json := 0.0, 0.0
	for item := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		kind, parameters, _ := strings.Cut(item, ";")
		q := 1.0
		for p := range strings.SplitSeq(parameters, ";") {
			if value, ok := strings.CutPrefix(strings.TrimSpace(p), "q="); ok {
				q, _ = strconv.ParseFloat(value, 64)
			}
		}
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "text/html":
			html = q
		case "application/json":
			json = q
		}
	}
	return html > json
}

// sendsForm says whether a browser sent a form.
func sendsForm(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded")
}

// hasSession says whether a browser holds a session's cookie.
func hasSession(r *http.Request) bool {
	for _, name := range []string{"__Host-session", "session"} {
		if c, err := r.Cookie(name); err == nil && c.Value != "" {
			return true
		}
	}
	return false
}

// theme is the colour scheme that the reader chose: light, dark, or empty for
// the system's.
func theme(r *http.Request) string {
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}
