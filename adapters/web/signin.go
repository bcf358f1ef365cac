package web

import (
	"net/http"
	"net/url"
)

type signInData struct {
	Sent    bool
	Expired bool // the link that the reader followed is used or too old
	Form    form
}

func (p *pageRequest) signInPage() error {
	return p.render(http.StatusOK, "sign-in.html", signInData{Sent: p.r.URL.Query().Get("sent") == "1"})
}

func (p *pageRequest) signIn(sent url.Values) error {
	if err := p.send(http.MethodPost, "/sign-in", map[string]string{"email": sent.Get("email")}, nil); err != nil {
		return p.showRefused(err, "sign-in", sent, func(status int, f form) error {
			return p.render(status, "sign-in.html", signInData{Form: f})
		})
	}
	return p.seeOther("/sign-in?sent=1")
}

// confirmPage shows a button that confirms the sign-in. Only the button uses the
// token, because mail scanners follow links but do not press buttons.
func (p *pageRequest) confirmPage() error {
	p.w.Header().Set("Referrer-Policy", "no-referrer") // the address contains the token
	token := p.r.URL.Query().Get("token")
	if token == "" {
		return refused(http.StatusUnprocessableEntity, "The link is incomplete. Open the complete link from the email.")
	}
	return p.render(http.StatusOK, "confirm.html", token)
}

func (p *pageRequest) confirm(sent url.Values) error {
	err := p.send(http.MethodPost, "/sign-in/confirm", map[string]string{"token": sent.Get("token")}, nil)
	if r, ok := refusalOf(err); ok && r.Code == "link_invalid" {
		return p.render(r.Status, "sign-in.html", signInData{Expired: true})
	}
	if err != nil {
		return err
	}
	return p.seeOther("/dashboard")
}
