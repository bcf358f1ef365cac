package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hexarena/domain/ladder"
)

// The dashboard's pages are for a session. Each form becomes the API's own call
// and is answered by 303 to the page that shows what came of it, or by the page
// itself with what was refused.
func (s *Server) registerDashboard() {
	s.handle("/dashboard", page{get: (*pageRequest).dashboard})
	s.handle("/dashboard/bots", page{post: (*pageRequest).registerBot})
	s.handle("/dashboard/bots/{id}", page{get: (*pageRequest).managedBot, post: (*pageRequest).changeBot})
	s.handle("/dashboard/keys", page{get: (*pageRequest).keys, post: (*pageRequest).registerKey})
	s.handle("/dashboard/keys/{id}", page{post: (*pageRequest).revokeKey})
	s.handle("/dashboard/account", page{get: (*pageRequest).account, post: (*pageRequest).changeAccount})
}

// account is who is signed in.
type account struct {
	ID    string `json:"id"`
	Name  string `json:"name"` // the handle; empty until chosen
	Email string `json:"email"`
}

// bot is one of the reader's own.
type bot struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Mode      string `json:"mode"`
	URL       string `json:"url"`
	Status    string `json:"status"`
	CreatedAt string `json:"createdAt"`

	Row     *row      // on the leaderboard; nil before its first match
	Running []summary // the match it plays, if any
}

type dashboardData struct {
	Account account
	Bots    []bot
	Form    form
}

func (p *pageRequest) dashboard() error { return p.showDashboard(http.StatusOK, form{}) }

func (p *pageRequest) showDashboard(status int, f form) error {
	p.private = true
	d := dashboardData{Form: f}
	if err := p.get("/me", &d.Account); err != nil {
		return err
	}
	var err error
	if d.Bots, err = p.bots(); err != nil {
		return err
	}
	return p.render(status, "dashboard.html", d)
}

// bots are the reader's own, with where they stand.
func (p *pageRequest) bots() ([]bot, error) {
	var list struct {
		Bots []bot `json:"bots"`
	}
	if err := p.get("/bots", &list); err != nil {
		return nil, err
	}
	standings := map[string]*row{}
	for _, mode := range ladder.Modes {
		if !slices.ContainsFunc(list.Bots, func(b bot) bool { return b.Mode == mode }) {
			continue
		}
		rows, err := p.leaderboard(mode, "")
		if err != nil {
			return nil, err
		}
		for i := range rows {
			standings[rows[i].BotID] = &rows[i]
		}
	}
	for i := range list.Bots {
		b := &list.Bots[i]
		b.Row = standings[b.ID]
		page, err := p.matches(url.Values{"bot": {b.ID}, "status": {"running"}, "limit": {"1"}})
		if err != nil {
			return nil, err
		}
		b.Running = page.Matches
	}
	return list.Bots, nil
}

// registerBot answers with the bot's page once it has passed its deploy check,
// or with the steps of the check that failed.
func (p *pageRequest) registerBot() error {
	f, err := p.form()
	if err != nil {
		return err
	}
	var registered bot
	body, next := map[string]string{"name": f.Get("name"), "mode": f.Get("mode"), "url": f.Get("url")}, func() string { return "/dashboard/bots/" + registered.ID + "?done=registered" }
	if p.following() {
		return p.follow(http.MethodPost, "/bots", body, &registered, next)
	}
	err = p.send(http.MethodPost, "/bots", body, &registered)
	if r, ok := refusalOf(err); ok && r.Status != http.StatusUnauthorized {
		return p.showDashboard(r.Status, form{"register", f, r})
	}
	if err != nil {
		return err
	}
	return p.seeOther(next())
}

type managedData struct {
	Account account
	Bot     bot
	Matches []summary
	Steps   []Step // of a deploy check that was asked for
	Passed  bool
	Done    string // what a form did, before this page
	Form    form
}

func (p *pageRequest) managedBot() error {
	return p.showBot(http.StatusOK, managedData{Done: p.r.URL.Query().Get("done")})
}

func (p *pageRequest) showBot(status int, d managedData) error {
	p.private = true
	id := url.PathEscape(p.r.PathValue("id"))
	if err := p.get("/me", &d.Account); err != nil {
		return err
	}
	if err := p.get("/bots/"+id, &d.Bot); err != nil {
		return err
	}
	page, err := p.matches(url.Values{"bot": {d.Bot.ID}, "limit": {"10"}})
	if err != nil {
		return err
	}
	d.Matches = page.Matches
	return p.render(status, "bot-manage.html", d)
}

// changeBot does what the form's button says.
func (p *pageRequest) changeBot() error {
	f, err := p.form()
	if err != nil {
		return err
	}
	do, path := f.Get("do"), "/bots/"+url.PathEscape(p.r.PathValue("id"))
	switch do {
	case "pause":
		err = p.send(http.MethodPatch, path, map[string]string{"status": "paused"}, nil)
	case "unpause":
		err = p.send(http.MethodPatch, path, map[string]string{"status": "active"}, nil)
	case "rename":
		err = p.send(http.MethodPatch, path, map[string]string{"name": f.Get("name")}, nil)
	case "move":
		body := map[string]string{"url": f.Get("url")}
		if p.following() {
			return p.follow(http.MethodPatch, path, body, nil, func() string { return "/dashboard" + path + "?done=move" })
		}
		err = p.send(http.MethodPatch, path, body, nil)
	case "check":
		return p.checkBot(path, f)
	case "remove":
		if f.Get("sure") == "" {
			err = unconfirmed()
		} else {
			err = p.send(http.MethodDelete, path, nil, nil)
		}
	default:
		err = refused(http.StatusUnprocessableEntity, "The form names nothing to do.")
	}
	if r, ok := refusalOf(err); ok && r.Status != http.StatusUnauthorized && r.Status != http.StatusNotFound {
		return p.showBot(r.Status, managedData{Form: form{do, f, r}})
	}
	if err != nil {
		return err
	}
	if do == "remove" {
		return p.seeOther("/dashboard")
	}
	return p.seeOther("/dashboard" + path + "?done=" + do)
}

// checkBot shows the deploy check in answer to the form: it changes nothing.
func (p *pageRequest) checkBot(path string, f url.Values) error {
	var check struct {
		OK    bool   `json:"ok"`
		Steps []Step `json:"steps"`
	}
	if p.following() {
		return p.follow(http.MethodPost, path+"/check", nil, &check, func() string { return "" })
	}
	err := p.send(http.MethodPost, path+"/check", nil, &check)
	if r, ok := refusalOf(err); ok && r.Status == http.StatusTooManyRequests {
		return p.showBot(r.Status, managedData{Form: form{"check", f, r}})
	}
	if err != nil {
		return err
	}
	return p.showBot(http.StatusOK, managedData{Steps: check.Steps, Passed: check.OK})
}

// unconfirmed refuses what cannot be undone and was not confirmed.
func unconfirmed() *Refusal {
	r := refused(http.StatusUnprocessableEntity, "Tick the box to confirm: this cannot be undone.")
	r.Errors = []FieldError{{"sure", "must be ticked: this cannot be undone"}}
	return r
}

// key is one of the reader's API keys.
type key struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	PublicKey  string   `json:"publicKey"`
	Scopes     []string `json:"scopes"`
	CreatedAt  string   `json:"createdAt"`
	LastUsedAt *string  `json:"lastUsedAt"`
	RevokedAt  *string  `json:"revokedAt"`
}

// scopes are all that a key may have, and what they allow.
var scopes = []struct{ Name, Allows string }{
	{"bots.read", "list and inspect bots"},
	{"bots.write", "register, change, pause and remove bots"},
	{"keys.read", "list keys"},
	{"keys.write", "register and revoke keys"},
	{"account.read", "read the account, with its e-mail address"},
	{"account.write", "change the handle"},
}

type keysData struct {
	Account       account
	Keys, Revoked []key
	Scopes        any
	New           string // the id of the key just registered
	Form          form
}

// Grants says whether a scope's box is ticked: as it was sent, else the two
// that a key gets by default.
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
	var list struct {
		Keys []key `json:"keys"`
	}
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
	var registered key
	chosen := f["scopes"]
	if chosen == nil {
		chosen = []string{} // no box is ticked: the API says that none is too few
	}
	err = p.send(http.MethodPost, "/keys", map[string]any{"name": f.Get("name"), "publicKey": f.Get("publicKey"), "scopes": chosen}, &registered)
	if r, ok := refusalOf(err); ok && r.Status != http.StatusUnauthorized {
		if private(f.Get("publicKey")) {
			f.Del("publicKey") // it is not sent back over the line
		}
		return p.showKeys(r.Status, form{"register", f, r})
	}
	if err != nil {
		return err
	}
	return p.seeOther("/dashboard/keys?new=" + registered.ID)
}

// private says whether a text looks like the secret half of a key.
func private(text string) bool { return strings.Contains(strings.ToUpper(text), "PRIVATE KEY") }

func (p *pageRequest) revokeKey() error {
	if _, err := p.form(); err != nil {
		return err
	}
	if err := p.send(http.MethodDelete, "/keys/"+url.PathEscape(p.r.PathValue("id")), nil, nil); err != nil {
		return err
	}
	return p.seeOther("/dashboard/keys")
}

type accountData struct {
	Account account
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

// changeAccount does what the form's button says.
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
		err = refused(http.StatusUnprocessableEntity, "The form names nothing to do.")
	}
	if r, ok := refusalOf(err); ok && r.Status != http.StatusUnauthorized {
		return p.showAccount(r.Status, accountData{Form: form{do, f, r}})
	}
	if err != nil {
		return err
	}
	return p.seeOther(next)
}
