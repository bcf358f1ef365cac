package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hexarena/adapters/rest"
)

// The variable scopes lists the scopes of keys, and what they allow.
var scopes = []struct{ Name, Allows string }{
	{"bots.read", "list and inspect bots"},
	{"bots.write", "register, change, pause and remove bots"},
	{"keys.read", "list keys"},
	{"keys.write", "register and revoke keys"},
	{"account.read", "read the account, including its email address"},
	{"account.write", "change the handle"},
}

type keysData struct {
	Account       rest.Account
	Keys, Revoked []rest.Key
	Scopes        any
	New, Gone     string // id of the key that the last form registered or revoked
	Form          form
}

// Grants reports whether the box of a scope is ticked. After a rejected form, the boxes
// are ticked as the reader left them. Otherwise, the scopes for bots are ticked.
func (d keysData) Grants(scope string) bool {
	if d.Form.Name == "" {
		return strings.HasPrefix(scope, "bots.")
	}
	return slices.Contains(d.Form.Values["scopes"], scope)
}

func (p *pageRequest) keys() error { return p.showKeys(http.StatusOK, form{}) }

func (p *pageRequest) showKeys(status int, f form) error {
	d := keysData{Scopes: scopes, New: p.r.URL.Query().Get("new"), Gone: p.r.URL.Query().Get("revoked"), Form: f}
	p.read("/me", &d.Account)
	var list rest.Keys
	p.read("/keys", &list)
	for _, k := range list.Keys {
		if k.RevokedAt == nil {
			d.Keys = append(d.Keys, k)
		} else {
			d.Revoked = append(d.Revoked, k)
		}
	}
	return p.render(status, "keys.html", d)
}

func (p *pageRequest) registerKey(sent url.Values) error {
	var registered rest.Key
	chosen := sent["scopes"]
	if chosen == nil {
		chosen = []string{} // the API rejects an empty list, but uses default scopes for null
	}
	body := map[string]any{"name": sent.Get("name"), "publicKey": sent.Get("publicKey"), "scopes": chosen}
	if err := p.send(http.MethodPost, "/keys", body, &registered); err != nil {
		if strings.Contains(strings.ToUpper(sent.Get("publicKey")), "PRIVATE KEY") {
			sent.Del("publicKey") // so that the page does not show the private key
		}
		return p.showRefused(err, "register", sent, p.showKeys)
	}
	return p.seeOther("/dashboard/keys?new=" + registered.ID)
}

// revokeKey asks first, and then revokes the key.
func (p *pageRequest) revokeKey(sent url.Values) error {
	if sent.Get("sure") == "" {
		return p.askToRevoke()
	}
	id := p.r.PathValue("id")
	if err := p.send(http.MethodDelete, "/keys/"+url.PathEscape(id), nil, nil); err != nil {
		return err
	}
	return p.seeOther("/dashboard/keys?revoked=" + url.QueryEscape(id))
}

func (p *pageRequest) askToRevoke() error {
	var list rest.Keys
	p.read("/keys", &list)
	for _, k := range list.Keys {
		if k.ID == p.r.PathValue("id") && k.RevokedAt == nil {
			return p.ask(question{
				Title: "Revoke the key", Name: k.Name, Do: "revoke", Button: "Revoke permanently", Back: "/dashboard/keys",
				Text: "Programs that sign with this key lose access immediately.",
			})
		}
	}
	if p.err != nil {
		return p.err
	}
	return refused(http.StatusNotFound, "This key does not exist or is already revoked.")
}
