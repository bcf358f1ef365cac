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
	s.handle("/sign-in", page{get: (*visit).signInPage, post: (*visit).signIn, shared: true})
	s.handle("/sign-in/confirm", page{get: (*visit).confirmPage, post: (*visit).confirm, shared: true})
}

type signInData struct {
	Sent bool
	Form form
}

func (v *visit) signInPage() error {
	return v.render(http.StatusOK, "sign-in.html", signInData{Sent: v.r.URL.Query().Get("sent") == "1"})
}

func (v *visit) signIn() error {
	sent, err := v.form()
	if err != nil {
		return err
	}
	err = v.send(http.MethodPost, "/sign-in", map[string]string{"email": sent.Get("email")}, nil)
	if r, ok := refusalOf(err); ok {
		return v.render(r.Status, "sign-in.html", signInData{Form: form{"sign-in", sent, r}})
	}
	if err != nil {
		return err
	}
	return v.seeOther("/sign-in?sent=1")
}

// confirmPage consumes nothing, so that a program that follows the links in
// mails does not sign in.
func (v *visit) confirmPage() error {
	v.private = true
	v.w.Header().Set("Referrer-Policy", "no-referrer") // the address holds the token
	token := v.r.URL.Query().Get("token")
	if token == "" {
		return refused(http.StatusUnprocessableEntity, "The link is cut short: open it as the mail has it.")
	}
	return v.render(http.StatusOK, "confirm.html", token)
}

func (v *visit) confirm() error {
	v.private = true
	sent, err := v.form()
	if err != nil {
		return err
	}
	if err := v.send(http.MethodPost, "/sign-in/confirm", map[string]string{"token": sent.Get("token")}, nil); err != nil {
		return err
	}
	return v.seeOther("/dashboard")
}
