package api

import (
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type botPath struct {
	ID string `path:"id"`
}

func (p *botPath) botID() string { return p.ID }

type newBot struct{ Body rest.NewBot }

type patchBot struct {
	botPath
	Body rest.BotPatch
}

type botsQuery struct {
	Mode string `query:"mode" enum:"standard,parley"`
}

func (s *Server) registerBots() {
	register(s, endpoint[newBot, rest.Bot]{
		id: "register-bot", method: http.MethodPost, path: "/bots", tag: "bots", summary: "Register a bot; it must pass the deploy check",
		status: http.StatusCreated, scope: owner.BotsWrite, dials: always, run: s.registerBot,
	})
	register(s, endpoint[botsQuery, rest.Bots]{
		id: "list-bots", method: http.MethodGet, path: "/bots", tag: "bots", summary: "The account's bots",
		scope: owner.BotsRead, run: s.listBots,
	})
	register(s, endpoint[botPath, rest.Bot]{
		id: "get-bot", method: http.MethodGet, path: "/bots/{id}", tag: "bots", summary: "One of the account's bots",
		scope: owner.BotsRead, find: findBot[*botPath], run: s.getBot,
	})
	register(s, endpoint[patchBot, rest.Bot]{
		id: "change-bot", method: http.MethodPatch, path: "/bots/{id}", tag: "bots", summary: "Rename, move, pause or unpause a bot",
		scope: owner.BotsWrite, dials: movesBot, find: findBot[*patchBot], run: s.changeBot,
	})
	register(s, endpoint[botPath, nothing]{
		id: "remove-bot", method: http.MethodDelete, path: "/bots/{id}", tag: "bots", summary: "Remove a bot for good",
		scope: owner.BotsWrite, find: findBot[*botPath], run: s.removeBot,
	})
	register(s, endpoint[botPath, rest.Check]{
		id: "check-bot", method: http.MethodPost, path: "/bots/{id}/check", tag: "bots", summary: "Run the deploy check",
		scope: owner.BotsWrite, dials: always, find: findBot[*botPath], run: s.checkBot,
	})
}

// movesBot reports whether a change has a URL.
func movesBot(c *call) bool {
	var named struct {
		URL json.RawMessage `json:"url"`
	}
	return json.Unmarshal(c.body, &named) == nil && named.URL != nil
}

// findBot refuses a bot that the caller does not own, and stores the account in
// the call.
func findBot[In interface{ botID() string }](c *call, in In) error {
	account, err := c.mine()
	if err != nil {
		return err
	}
	if _, ok := account.Bot(in.botID()); !ok {
		return owner.ErrBotUnknown
	}
	c.account = account
	return nil
}

func (s *Server) registerBot(c *call, in *newBot) (rest.Bot, error) {
	bot, err := owner.ParseBot(in.Body.Name, in.Body.Mode, in.Body.URL)
	if err != nil {
		return rest.Bot{}, err
	}
	if err := s.allowed(bot.URL); err != nil {
		return rest.Bot{}, err
	}
	account, err := c.mine()
	if err != nil {
		return rest.Bot{}, err
	}
	id := uuid.NewString()
	if _, err := account.RegisterBot(id, bot); err != nil {
		return rest.Bot{}, err
	}
	if err := c.mustPass(bot.URL); err != nil {
		return rest.Bot{}, err
	}
	account, err = c.change(func(a owner.Account) ([]owner.Event, error) { return a.RegisterBot(id, bot) })
	if err != nil {
		return rest.Bot{}, err
	}
	return botBody(account, id)
}

func (s *Server) listBots(c *call, in *botsQuery) (rest.Bots, error) {
	account, err := c.mine()
	if err != nil {
		return rest.Bots{}, err
	}
	out := rest.Bots{Bots: []rest.Bot{}}
	for _, b := range account.Bots {
		if in.Mode == "" || b.Mode == in.Mode {
			out.Bots = append(out.Bots, botOf(account, b))
		}
	}
	return out, nil
}

func (s *Server) getBot(c *call, in *botPath) (rest.Bot, error) { return botBody(c.account, in.ID) }

func (s *Server) changeBot(c *call, in *patchBot) (rest.Bot, error) {
	change, err := owner.ParseBotChange(in.Body.Name, in.Body.URL, in.Body.Status)
	if err != nil {
		return rest.Bot{}, err
	}
	bot, _ := c.account.Bot(in.ID)
	moved := change.URL != nil && *change.URL != bot.URL
	if moved {
		if err := s.allowed(*change.URL); err != nil {
			return rest.Bot{}, err
		}
	}
	if _, err := c.account.ChangeBot(in.ID, change); err != nil {
		return rest.Bot{}, err
	}
	if moved {
		if err := c.mustPass(*change.URL); err != nil {
			return rest.Bot{}, err
		}
	}
	account, err := c.change(func(a owner.Account) ([]owner.Event, error) { return a.ChangeBot(in.ID, change) })
	if err != nil {
		return rest.Bot{}, err
	}
	return botBody(account, in.ID)
}

func (s *Server) removeBot(c *call, in *botPath) (out nothing, err error) {
	_, err = c.change(func(a owner.Account) ([]owner.Event, error) { return a.RemoveBot(in.ID) })
	return out, err
}

// botBody returns one of an account's bots as its owner sees it.
func botBody(a owner.Account, id string) (rest.Bot, error) {
	b, ok := a.Bot(id)
	if !ok {
		return rest.Bot{}, owner.ErrBotUnknown
	}
	return botOf(a, b), nil
}

func botOf(a owner.Account, b owner.Bot) rest.Bot {
	return rest.Bot{
		ID: b.ID, OwnerID: a.ID, Name: b.Name, Mode: b.Mode, URL: b.URL,
		Status: string(b.Status), CreatedAt: rest.FormatTime(b.CreatedAt),
	}
}
