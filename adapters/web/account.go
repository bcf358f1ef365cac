package web

import (
	"net/http"
	"net/url"

	"hexarena/adapters/rest"
)

type accountData struct {
	Account rest.Account
	Done    string
	Form    form
}

func (p *pageRequest) account() error { return p.showAccount(http.StatusOK, form{}) }

func (p *pageRequest) showAccount(status int, f form) error {
	d := accountData{Done: p.r.URL.Query().Get("done"), Form: f}
	p.read("/me", &d.Account)
	return p.render(status, "account.html", d)
}

// changeAccount handles the buttons that change the account.
func (p *pageRequest) changeAccount(sent url.Values) (err error) {
	do, next := sent.Get("do"), "/"
	switch do {
	case "handle":
		next = "/dashboard/account?done=handle"
		err = p.send(http.MethodPatch, "/me", map[string]string{"name": sent.Get("name")}, nil)
	case "mails":
		next = "/dashboard/account?done=mails#mails"
		err = p.send(http.MethodPatch, "/me", rest.AccountPatch{Mails: sentMails(sent)}, nil)
	case "sign-out":
		err = p.send(http.MethodPost, "/sign-out", nil, nil)
	case "delete":
		err = p.deleteIfSure("/me", sent)
	default:
		err = unknownCommand()
	}
	if err != nil {
		return p.showRefused(err, do, sent, p.showAccount)
	}
	return p.seeOther(next)
}

// sentMails returns which emails the reader wants. Browsers send only ticked boxes.
func sentMails(sent url.Values) *rest.MailsPatch {
	return &rest.MailsPatch{Failing: new(sent.Has("failing")), Unreachable: new(sent.Has("unreachable")), Recovered: new(sent.Has("recovered"))}
}
