package web

import (
	"net/http"
	"net/url"

	"hexarena/adapters/rest"
)

// The pages of the dashboard need a session. Each form becomes an API call. After a
// successful call, the browser is redirected to a page that shows the result.
// Otherwise, the page shows the form again, with the reason for the rejection.

// The type bot is one of the reader's own bots.
type bot struct {
	rest.Bot
	Row     *row      // the bot's row on the leaderboard; nil before its first match
	Running []summary // the match that the bot is playing, if any
}

type dashboardData struct {
	Account rest.Account
	Bots    []bot
	Done    string // the command that led to this page
	Form    form
}

func (p *pageRequest) dashboard() error { return p.showDashboard(http.StatusOK, form{}) }

func (p *pageRequest) showDashboard(status int, f form) error {
	d := dashboardData{Done: p.r.URL.Query().Get("done"), Form: f}
	p.read("/me", &d.Account)
	d.Bots = p.bots()
	return p.render(status, "dashboard.html", d)
}

// The method bots() returns the reader's bots, each with its rank and running match.
func (p *pageRequest) bots() []bot {
	var list struct{ Bots []bot }
	p.read("/bots", &list)
	for i := range list.Bots {
		b := &list.Bots[i]
		if r, ok := p.ranking(b.Mode, "").find(b.ID); ok {
			b.Row = &r
		}
		b.Running = p.runningMatch(b.ID)
	}
	return list.Bots
}

// registerBot registers a bot. It redirects to the bot's page, or shows the failed
// deploy check.
func (p *pageRequest) registerBot(sent url.Values) error {
	var registered rest.Bot
	body := rest.NewBot{Name: sent.Get("name"), Mode: sent.Get("mode"), URL: sent.Get("url")}
	if sent.Get("paused") != "" {
		body.Status = new("paused")
	}
	if err := p.sendCheck(http.MethodPost, "/bots", body, &registered); err != nil {
		return p.showRefused(err, "register", sent, p.showDashboard)
	}
	return p.seeOther("/dashboard/bots/" + registered.ID + "?done=registered")
}

type managedData struct {
	Account rest.Account
	Bot     rest.Bot
	Matches []summary
	Check   *rest.Check // the deploy check that this request made
	Done    string      // the form that led to this page
	Form    form
}

func (p *pageRequest) managedBot() error { return p.showBotForm(http.StatusOK, form{}) }

func (p *pageRequest) showBotForm(status int, f form) error {
	return p.showBot(status, managedData{Form: f, Done: p.r.URL.Query().Get("done")})
}

func (p *pageRequest) showBot(status int, d managedData) error {
	p.read("/me", &d.Account)
	p.read("/bots/"+url.PathEscape(p.r.PathValue("id")), &d.Bot)
	d.Matches = p.matches(query{"bot": d.Bot.ID, "limit": "10"}).Matches
	return p.render(status, "bot-manage.html", d)
}

// changeBot handles the buttons that change a bot.
func (p *pageRequest) changeBot(sent url.Values) (err error) {
	do, path := sent.Get("do"), "/bots/"+url.PathEscape(p.r.PathValue("id"))
	next := "/dashboard" + path + "?done=" + do
	switch do {
	case "pause":
		err = p.send(http.MethodPatch, path, map[string]string{"status": "paused"}, nil)
	case "unpause":
		err = p.send(http.MethodPatch, path, map[string]string{"status": "active"}, nil)
	case "rename":
		err = p.send(http.MethodPatch, path, map[string]string{"name": sent.Get("name")}, nil)
	case "move":
		err = p.sendCheck(http.MethodPatch, path, map[string]string{"url": sent.Get("url")}, nil)
	case "trial":
		var ordered rest.Trial
		err = p.send(http.MethodPost, path+"/trial", nil, &ordered)
		next = "/dashboard" + path + "/trials/" + ordered.ID
	case "check":
		var check rest.Check
		if err = p.sendCheck(http.MethodPost, path+"/check", nil, &check); err == nil {
			return p.showCheck(check)
		}
	case "remove":
		if sent.Get("sure") == "" {
			return p.askToRemove()
		}
		next = "/dashboard?done=remove"
		err = p.send(http.MethodDelete, path, nil, nil)
	default:
		err = unknownCommand()
	}
	if err != nil {
		return p.showRefused(err, do, sent, p.showBotForm)
	}
	return p.seeOther(next)
}

func (p *pageRequest) askToRemove() error {
	var b rest.Bot
	p.read("/bots/"+url.PathEscape(p.r.PathValue("id")), &b)
	return p.ask(question{
		Title: "Remove the bot", Name: b.Name, Do: "remove", Button: "Remove permanently", Back: "/dashboard/bots/" + b.ID,
		Text: "The bot leaves the ladder. Its matches remain, under its name.",
	})
}

// showCheck shows the steps of a deploy check. It does not redirect, because the
// result is not stored, so no other page could show it.
func (p *pageRequest) showCheck(check rest.Check) error {
	if p.line != nil {
		p.line(checkLine{})
		return nil
	}
	return p.showBot(http.StatusOK, managedData{Check: &check})
}
