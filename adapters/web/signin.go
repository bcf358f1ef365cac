package web

import (
	"net/http"
	"net/url"
)

// form is a form as it was sent, and what the API refused of it. The zero
// value is one that was not sent.
type form struct {
	Name    string
	Values  url.Values
	Refusal *Refusal
}

// Value is what was sent in a field.
func (f form) Value(field string) string { return f.Values.Get(field) }

// Of is f where it is the form of that name, else one that was not sent: a page
// with several forms shows each its own.
func (f form) Of(name string) form {
	if f.Name == name {
		return f
	}
	return form{Name: name}
}

// refusal is what an error refuses; false where it is a fault.
func refusalOf(err error) (*Refusal, bool) {
	r, ok := err.(*Refusal) //nolint:errorlint // calls return it bare
	return r, ok
}

func (s *Server) registerSignIn() {
	s.handle("/sign-in", page{get: (*pageRequest).signInPage, post: (*pageRequest).signIn, shared: true})
	s.handle("/sign-in/confirm", page{get: (*pageRequest).confirmPage, post: (*pageRequest).confirm, shared: true})
}

type signInData struct {
	Sent bool
	Form form
}

func (p *pageRequest) signInPage() error {
	return p.render(http.StatusOK, "sign-in.html", signInData{Sent: p.r.URL.Query().Get("sent") == "1"})
}

func (p *pageRequest) signIn() error {
	sent, err := p.form()
	if err != nil {
		return err
	}
	err = p.send(http.MethodPost, "/sign-in", map[string]string{"email": sent.Get("email")}, nil)
	if r, ok := refusalOf(err); ok {
		return p.render(r.Status, "sign-in.html", signInData{Form: form{"sign-in", sent, r}})
	}
	if err != nil {
		return err
	}
	return p.seeOther("/sign-in?sent=1")
}

// confirmPage consumes nothing, so that a program that follows the links in
// mails does not sign in.
func (p *pageRequest) confirmPage() error {
	p.private = true
	p.w.Header().Set("Referrer-Policy", "no-referrer") // the address holds the token
	token := p.r.URL.Query().Get("token")
	if token == "" {
		return refused(http.StatusUnprocessableEntity, "The link is cut short: open it as the mail has it.")
	}
	return p.render(http.StatusOK, "confirm.html", token)
}

func (p *pageRequest) confirm() error {
	p.private = true
	sent, err := p.form()
	if err != nil {
		return err
	}
	if err := p.send(http.MethodPost, "/sign-in/confirm", map[string]string{"token": sent.Get("token")}, nil); err != nil {
		return err
	}
	return p.seeOther("/dashboard")
}
