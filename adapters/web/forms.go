package web

import (
	"io"
	"net/http"
	"net/url"
	"time"

	"hexarena/adapters/rest"
)

// The type form contains the fields of a sent form, and the reason for its rejection.
// The zero value is a form that was not sent.
type form struct {
	Name    string
	Values  url.Values
	Refusal *Refusal
}

// Value returns the sent value of a field.
func (f form) Value(field string) string { return f.Values.Get(field) }

// The method Of() returns f if f has the given name. Otherwise, it returns a form that
// was not sent. So a page with several forms shows values and errors only in the form
// that was sent.
func (f form) Of(name string) form {
	if f.Name == name {
		return f
	}
	return form{Name: name}
}

// refusalOf returns err as a *Refusal. It returns false for any other error.
func refusalOf(err error) (*Refusal, bool) {
	r, ok := err.(*Refusal) //nolint:errorlint // get and send return it unwrapped
	return r, ok
}

// showRefused shows the page of a rejected form again. It returns errors that are not
// refusals, and the refusal for an ended session, which leads to the sign-in page. In a
// line-by-line response, there is no page to show, so showRefused returns every
// refusal.
func (p *pageRequest) showRefused(err error, name string, sent url.Values, show func(status int, f form) error) error {
	if r, ok := refusalOf(err); ok && r.Status != http.StatusUnauthorized && p.line == nil {
		return show(r.Status, form{name, sent, r})
	}
	return err
}

// question is the second step of a form that cannot be undone. Its form repeats the
// command with sure=yes.
type question struct {
	Title, Name string // such as "Remove the bot", and the name of the bot
	Text        string
	Do, Button  string // the command, and the label of its button
	Back        string // the page to return to if the reader cancels
}

// ask shows the second step of a form.
func (p *pageRequest) ask(q question) error { return p.render(http.StatusOK, "question.html", q) }

// deleteIfSure makes the API call for a form that deletes something. It rejects the
// form if the confirmation box is not ticked.
func (p *pageRequest) deleteIfSure(path string, sent url.Values) error {
	if sent.Get("sure") == "" {
		r := refused(http.StatusUnprocessableEntity, "Tick the box to confirm. This cannot be undone.")
		r.Errors = []rest.FieldError{{In: "body", Field: "sure", Message: "must be ticked: this cannot be undone"}}
		return r
	}
	return p.send(http.MethodDelete, path, nil, nil)
}

// unknownCommand rejects a form whose button is unknown.
func unknownCommand() error {
	return refused(http.StatusUnprocessableEntity, "The form asks for an unknown action. Reload the page and try again.")
}

// The method form() reads a form. It rejects forms that a page of another site sent.
func (p *pageRequest) form() (url.Values, error) {
	if err := p.server.crossSite.Check(p.r); err != nil {
		return nil, &Refusal{Problem: rest.Problem{Status: http.StatusForbidden, Title: "Forbidden", Code: "cross_site", Detail: "Another site sent this form. Open the page on this site, and send the form from there."}}
	}
	deadline := http.NewResponseController(p.w)
	_ = deadline.SetReadDeadline(time.Now().Add(formTime)) // some writers in tests do not support deadlines
	body, err := io.ReadAll(http.MaxBytesReader(p.w, p.r.Body, maxForm))
	_ = deadline.SetReadDeadline(time.Time{})
	if err == nil && sendsForm(p.r.Header) {
		if values, err := url.ParseQuery(string(body)); err == nil {
			return values, nil
		}
	}
	return nil, refused(http.StatusBadRequest, "The form is invalid or incomplete. Reload the page and try again.")
}
