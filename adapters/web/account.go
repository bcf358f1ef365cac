package web

import (
	"net/http"

	"hexarena/adapters/rest"
)

type accountData struct {
	Account rest.Account
	Done    string
	Form    form
}

func (p *pageRequest) account() error {
	return p.showAccount(http.StatusOK, accountData{Done: p.r.URL.Query().Get("done")})
}

func (p *pageRequest) showAccount(status int, d accountData) error {
	p.private = true
	if err := p.get("/me", &d.Account); err != nil {
		return err
	}
	return p.render(status, "account.html", d)
}

// changeAccount runs the command of the pressed button.
func (p *pageRequest) changeAccount() error {
	f, err := p.form()
	if err != nil {
		return err
	}
	next := "/dashboard/account?done=handle"
	do := f.Get("do")
	switch do {
	case "handle":
		err = p.send(http.MethodPatch, "/me", map[string]string{"name": f.Get("name")}, nil)
	case "sign-out":
		next, err = "/", p.send(http.MethodPost, "/sign-out", nil, nil)
	case "delete":
		next, err = "/", unconfirmed()
		if f.Get("sure") != "" {
			err = p.send(http.MethodDelete, "/me", nil, nil)
		}
	default:
		err = unknownCommand()
	}
	if err != nil {
		return p.showRefused(err, do, f, func(status int, f form) error {
			return p.showAccount(status, accountData{Form: f})
		})
	}
	return p.seeOther(next)
}
