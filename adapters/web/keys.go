package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hexarena/adapters/rest"
)

// scopes lists the scopes of keys, and what they allow.
var scopes = []struct{ Name, Allows string }{
	{"bots.read", "list and inspect bots"},
	{"bots.write", "register, change, pause and remove bots"},
	{"keys.read", "list keys"},
	{"keys.write", "register and revoke keys"},
	{"account.read", "read the account, with its e-mail address"},
	{"account.write", "change the handle"},
}

type keysData struct {
	Account       rest.Account
	Keys, Revoked []rest.Key
	Scopes        any
	New           string // id of the key that the last form registered
	Form          form
}

// Grants reports whether the box of a scope is ticked: as in the rejected form, or by
// default the scopes for bots.
func (d keysData) Grants(scope string) bool {
	if d.Form.Name == "" {
		return strings.HasPrefix(scope, "bots.")
	}
	return slices.Contains(d.Form.Values["scopes"], scope)
}

func (p *pageRequest) keys() error { return p.showKeys(http.StatusOK, form{}) }

func (p *pageRequest) showKeys(status int, f form) error {
	p.private = true
	d := keysData{Scopes: scopes, New: p.r.URL.Query().Get("new"), Form: f}
	if err := p.get("/me", &d.Account); err != nil {
		return err
	}
	var list rest.Keys
	if err := p.get("/keys", &list); err != nil {
		return err
	}
	for _, k := range list.Keys {
		if k.RevokedAt == nil {
			d.Keys = append(d.Keys, k)
		} else {
			d.Revoked = append(d.Revoked, k)
		}
	}
	return p.render(status, "keys.html", d)
}

func (p *pageRequest) registerKey() error {
	f, err := p.form()
	if err != nil {
		return err
	}
	var registered rest.Key
	chosen := f["scopes"]
	if chosen == nil {
		chosen = []string{} // the API rejects an empty list, but gives a default for null
	}
	err = p.send(http.MethodPost, "/keys", map[string]any{"name": f.Get("name"), "publicKey": f.Get("publicKey"), "scopes": chosen}, &registered)
	if err != nil {
		if strings.Contains(strings.ToUpper(f.Get("publicKey")), "PRIVATE KEY") {
			f.Del("publicKey") // do not send a secret back in the page
		}
		return p.showRefused(err, "register", f, p.showKeys)
	}
	return p.seeOther("/dashboard/keys?new=" + registered.ID)
}

func (p *pageRequest) revokeKey() error {
	if _, err := p.form(); err != nil {
		return err
	}
	if err := p.send(http.MethodDelete, "/keys/"+url.PathEscape(p.r.PathValue("id")), nil, nil); err != nil {
		return err
	}
	return p.seeOther("/dashboard/keys")
}
