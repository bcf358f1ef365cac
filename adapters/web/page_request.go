package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hexarena/adapters/rest/httpgzip"
)

// pageRequest is one request for a page. Handlers are its methods.
type pageRequest struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request

	err  error           // the first error from read or find; render returns it
	line func(checkLine) // writes one line of a line-by-line response; nil: the response is a page

	// private marks a page with the reader's own data. Such a page is never
	// compressed, because the length of a compressed page can reveal secrets in it
	// (BREACH).
	private    bool
	embeddable bool    // other sites may show the page in a frame
	theme      string  // light or dark if the address chooses it, otherwise ""
	follow     *follow // what a page of a match follows; nil: only the match

	endTurn func() // set by heavy
}

const (
	pageTime = 30 * time.Second // time limit for a client to receive a page
	maxForm  = 64 << 10         // bytes
)

// serve runs a handler and shows its error as a page.
func (p *pageRequest) serve(h handler) {
	// Some writers in tests do not support deadlines.
	_ = http.NewResponseController(p.w).SetWriteDeadline(time.Now().Add(callTime + pageTime))
	defer func() {
		if reason := recover(); reason != nil {
			if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(reason)
			}
			p.fail(fmt.Errorf("panic: %v", reason))
		}
	}()
	defer p.giveUpTurn()
	err := p.count(1)
	if err == nil {
		err = h(p)
	}
	if err != nil {
		p.fail(err)
	}
}

// The method heavy() counts an expensive page as n additional calls, and waits for its
// turn. Handlers call it before an expensive part.
func (p *pageRequest) heavy(n int) error {
	if n == 0 {
		return nil
	}
	if err := p.count(n); err != nil || p.endTurn != nil {
		return err
	}
	var err error
	if p.endTurn, err = p.server.Turn(p.r.Context()); err != nil {
		busy := refused(http.StatusServiceUnavailable, "Too many pages of this kind are loading at the same time. Try again in a moment.")
		busy.after = "5"
		return busy
	}
	return nil
}

// giveUpTurn ends the page's turn. Call it before writing the page, because a slow
// client could otherwise occupy the turn.
func (p *pageRequest) giveUpTurn() {
	if p.endTurn != nil {
		p.endTurn()
		p.endTurn = nil
	}
}

// count counts the page as n calls against its reader's rate limits.
func (p *pageRequest) count(n int) error {
	wait := p.server.Count(p.w.Header(), p.r, n)
	if wait == 0 {
		return nil
	}
	refusal := refused(http.StatusTooManyRequests, fmt.Sprintf("Your address sent too many requests within a minute. Try again in %d s.", wait))
	refusal.after = strconv.Itoa(wait)
	return refusal
}

// fail shows an error as a page, or as the last line of a line-by-line response.
func (p *pageRequest) fail(err error) {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		p.server.Logger.Error("page failed", "path", p.r.URL.Path, "error", err)
		refusal = refused(http.StatusInternalServerError, "Something went wrong on our side, and we logged it. Try again in a moment.")
	}
	switch {
	case p.line != nil:
		p.line(checkLine{Refusal: &refusal.Problem})
		return
	case refusal.Code == "unauthenticated":
		_ = p.seeOther("/sign-in")
		return
	}
	if refusal.after != "" {
		p.w.Header().Set("Retry-After", refusal.after)
	}
	p.err = nil
	if err := p.render(refusal.Status, "error.html", refusal); err != nil {
		p.server.Logger.Error("error page failed", "error", err)
		http.Error(p.w, "internal error", http.StatusInternalServerError)
	}
}

// Page is the data of every template.
type Page struct {
	Path, Theme, Origin string
	Spoilers            string // hide if the reader wants to see no results
	Local               bool   // the server is a viewer
	SignedIn            bool   // the browser sent a session cookie; the session may have ended
	Tick                string // the time between two ticks, such as "30 seconds"
	Status              int
	Data                any // the data of this page
}

// render sends a page from templates/. It renders the whole page before it sends
// the first byte. So if the template fails, the server can still send an error
// page. If an earlier read failed, render returns the error of the read.
func (p *pageRequest) render(status int, name string, data any) error {
	if p.err != nil {
		return p.err
	}
	t, ok := p.server.templates[name]
	if !ok {
		return fmt.Errorf("template %q does not exist", name)
	}
	var b bytes.Buffer
	page := Page{Path: p.r.URL.RequestURI(), Theme: cmp.Or(p.theme, theme(p.r)), Spoilers: spoilers(p.r), Origin: p.server.origin, Local: p.server.local, SignedIn: hasSession(p.r), Tick: interval(p.server.Tick), Status: status, Data: data}
	if err := t.ExecuteTemplate(&b, "layout", page); err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	p.write(status, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// write sends content with the headers that all pages share.
func (p *pageRequest) write(status int, kind string, content []byte) {
	p.giveUpTurn()
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
	compressible := !p.private && len(content) >= httpgzip.MinSize
	if compressible {
		h.Add("Vary", "Accept-Encoding")
	}
	if compressible && httpgzip.Accepted(p.r.Header) {
		httpgzip.Answer(p.w, status, content)
		return
	}
	p.w.WriteHeader(status)
	_, _ = p.w.Write(content) // fails only if the client is gone
}

// seeOther redirects the browser to a page, for example after a form. A line-by-line
// response ends with the path of that page.
func (p *pageRequest) seeOther(path string) error {
	if p.line != nil {
		p.line(checkLine{Location: path})
		return nil
	}
	p.w.Header().Set("Cache-Control", "no-store")
	p.w.Header().Set("Location", path)
	p.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// policy returns the Content-Security-Policy of a page. The page may load only
// files from the arena, and may not have inline scripts or styles.
func policy(embeddable bool) string {
	ancestors := "'none'"
	if embeddable {
		ancestors = "*"
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors " + ancestors
}

// prefersHTML reports whether a client prefers HTML to JSON, as browsers do.
func prefersHTML(h http.Header) bool {
	html, json := 0.0, 0.0
	for item := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		kind, parameters, _ := mime.ParseMediaType(item)
		q, _ := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		switch kind {
		case "text/html":
			html = q
		case "application/json":
			json = q
		}
	}
	return html > json
}

// sendsForm reports whether a request contains an HTML form.
func sendsForm(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "application/x-www-form-urlencoded"
}

// hasSession reports whether a request has a session cookie. The session may have
// ended.
func hasSession(r *http.Request) bool {
	for _, name := range []string{"__Host-session", "session"} {
		if c, err := r.Cookie(name); err == nil && c.Value != "" {
			return true
		}
	}
	return false
}

// spoilers returns "hide" if the reader chose to hide results, and otherwise "".
func spoilers(r *http.Request) string {
	if c, err := r.Cookie("spoilers"); err == nil && c.Value == "hide" {
		return c.Value
	}
	return ""
}

// theme returns the color scheme that the reader chose: light, dark, or "" for the
// system's color scheme.
func theme(r *http.Request) string {
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}
