package web

import (
	"net/http"
	"net/url"
	"slices"

	"hexarena/adapters/rest"
	"hexarena/domain/ladder"
)

// The pages of the dashboard need a session. Each form becomes a call of the API. The
// answer redirects to a page that shows the result, or is the form's page with the
// reason for the rejection.
func (s *Server) registerDashboard() {
	s.handle("/dashboard", page{get: (*pageRequest).dashboard})
	s.handle("/dashboard/bots", page{post: (*pageRequest).registerBot})
	s.handle("/dashboard/bots/{id}", page{get: (*pageRequest).managedBot, post: (*pageRequest).changeBot})
	s.handle("/dashboard/keys", page{get: (*pageRequest).keys, post: (*pageRequest).registerKey})
	s.handle("/dashboard/keys/{id}", page{post: (*pageRequest).revokeKey})
	s.handle("/dashboard/account", page{get: (*pageRequest).account, post: (*pageRequest).changeAccount})
}

// bot is one of the reader's own.
type bot struct {
	rest.Bot
	Row     *row      // on the leaderboard; nil before its first match
	Running []summary // the match it plays, if any
}

type dashboardData struct {
	Account rest.Account
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

// bots returns the reader's bots, each with its rank and running match.
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
		var err error
		if b.Running, err = p.runningMatch(b.ID); err != nil {
			return nil, err
		}
	}
	return list.Bots, nil
}

// registerBot registers a bot. It leads to the bot's page, or shows the failed steps
// of the deploy check.
func (p *pageRequest) registerBot() error {
	f, err := p.form()
	if err != nil {
		return err
	}
	var registered bot
	body := map[string]string{"name": f.Get("name"), "mode": f.Get("mode"), "url": f.Get("url")}
	next := func() string { return "/dashboard/bots/" + registered.ID + "?done=registered" }
	if p.following() {
		return p.follow(http.MethodPost, "/bots", body, &registered, next)
	}
	if err := p.send(http.MethodPost, "/bots", body, &registered); err != nil {
		return p.showRefused(err, "register", f, p.showDashboard)
	}
	return p.seeOther(next())
}

type managedData struct {
	Account rest.Account
	Bot     bot
	Matches []summary
	Steps   []rest.Step // of the deploy check that this request made
	Passed  bool
	Done    string // the form that led to this page
	Form    form
}

func (p *pageRequest) managedBot() error {
	return p.showBot(http.StatusOK, managedData{Done: p.r.URL.Query().Get("done")})
}

func (p *pageRequest) showBotForm(status int, f form) error {
	return p.showBot(status, managedData{Form: f})
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

// changeBot runs the command of the pressed button.
func (p *pageRequest) changeBot() error {
	f, err := p.form()
	if err != nil {
		return err
	}
	do, path, next := f.Get("do"), "/bots/"+url.PathEscape(p.r.PathValue("id")), "/dashboard"
	if do != "remove" {
		next += path + "?done=" + do
	}
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
			return p.follow(http.MethodPatch, path, body, nil, func() string { return next })
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
		err = unknownCommand()
	}
	if isNotFound(err) {
		return err
	}
	if err != nil {
		return p.showRefused(err, do, f, p.showBotForm)
	}
	return p.seeOther(next)
}

// checkBot runs the deploy check and shows its steps. It does not redirect, because
// the check changes nothing that another page could show.
func (p *pageRequest) checkBot(path string, f url.Values) error {
	var check rest.Check
	if p.following() {
		return p.follow(http.MethodPost, path+"/check", nil, &check, func() string { return "" })
	}
	err := p.send(http.MethodPost, path+"/check", nil, &check)
	if r, ok := refusalOf(err); ok && r.Status == http.StatusTooManyRequests {
		return p.showBotForm(r.Status, form{"check", f, r})
	}
	if err != nil {
		return err
	}
	return p.showBot(http.StatusOK, managedData{Steps: check.Steps, Passed: check.OK})
}
