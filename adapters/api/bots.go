package api

import (
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	"hexarena/domain/owner"
)

type botBody struct {
	ID        string `json:"id"`
	OwnerID   string `json:"ownerId"`
	Name      string `json:"name"`
	Mode      string `json:"mode" enum:"standard,parley"`
	URL       string `json:"url" format:"uri"`
	Status    string `json:"status" enum:"active,paused"`
	CreatedAt string `json:"createdAt" format:"date-time"`
}

type botOutput struct{ Body botBody }

type botsOutput struct {
	Body struct {
		Bots []botBody `json:"bots" nullable:"false"`
	}
}

type botPath struct {
	ID string `path:"id"`
}

func (p *botPath) botID() string { return p.ID }

type botsQuery struct {
	Mode string `query:"mode" enum:"standard,parley"`
}

type botInput struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"40"`
		Mode string `json:"mode" enum:"standard,parley"`
		URL  string `json:"url" format:"uri"`
	}
}

type botPatch struct {
	botPath
	Body struct {
		Name   *string `json:"name,omitempty" minLength:"1" maxLength:"40"`
		URL    *string `json:"url,omitempty" format:"uri"`
		Status *string `json:"status,omitempty" enum:"active,paused"`
	}
}

func (s *Server) registerBots() {
	register(s, endpoint[botInput, botOutput]{
		id: "register-bot", method: http.MethodPost, path: "/bots", tag: "bots", summary: "Register a bot; it must pass the deploy check",
		status: http.StatusCreated, scope: owner.BotsWrite, dials: always, run: s.registerBot,
	})
	register(s, endpoint[botsQuery, botsOutput]{
		id: "list-bots", method: http.MethodGet, path: "/bots", tag: "bots", summary: "The account's bots",
		scope: owner.BotsRead, run: s.listBots,
	})
	register(s, endpoint[botPath, botOutput]{
		id: "get-bot", method: http.MethodGet, path: "/bots/{id}", tag: "bots", summary: "One of the account's bots",
		scope: owner.BotsRead, find: findBot[*botPath], run: s.getBot,
	})
	register(s, endpoint[botPatch, botOutput]{
		id: "change-bot", method: http.MethodPatch, path: "/bots/{id}", tag: "bots", summary: "Rename, move, pause or unpause a bot",
		scope: owner.BotsWrite, dials: movesBot, find: findBot[*botPatch], run: s.changeBot,
	})
	register(s, endpoint[botPath, nothing]{
		id: "remove-bot", method: http.MethodDelete, path: "/bots/{id}", tag: "bots", summary: "Remove a bot for good",
		scope: owner.BotsWrite, find: findBot[*botPath], run: s.removeBot,
	})
	register(s, endpoint[botPath, checkOutput]{
		id: "check-bot", method: http.MethodPost, path: "/bots/{id}/check", tag: "bots", summary: "Run the deploy check",
		scope: owner.BotsWrite, dials: always, find: findBot[*botPath], run: s.checkBot,
	})
}

// movesBot says whether a change names a URL.
func movesBot(c *call) bool {
	var named struct {
		URL json.RawMessage `json:"url"`
	}
	return json.Unmarshal(c.body, &named) == nil && named.URL != nil
}

// findBot refuses a bot that is not one of the caller's, and keeps the account.
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

func (s *Server) registerBot(c *call, in *botInput) (*botOutput, error) {
	bot, err := owner.ParseBot(in.Body.Name, in.Body.Mode, in.Body.URL)
	if err != nil {
		return nil, err
	}
	if err := s.allowed(bot.URL); err != nil {
		return nil, err
	}
	account, err := c.mine()
	if err != nil {
		return nil, err
	}
	id := uuid.NewString()
	if _, err := account.RegisterBot(id, bot); err != nil {
		return nil, err
	}
	if err := s.mustPass(c, bot.URL); err != nil {
		return nil, err
	}
	account, err = c.change(func(a owner.Account) ([]owner.Event, error) { return a.RegisterBot(id, bot) })
	if err != nil {
		return nil, err
	}
	return botOf(account, id)
}

func (s *Server) listBots(c *call, in *botsQuery) (*botsOutput, error) {
	account, err := c.mine()
	if err != nil {
		return nil, err
	}
	out := new(botsOutput)
	out.Body.Bots = []botBody{}
	for _, b := range account.Bots {
		if in.Mode == "" || b.Mode == in.Mode {
			out.Body.Bots = append(out.Body.Bots, botBodyOf(account, b))
		}
	}
	return out, nil
}

func (s *Server) getBot(c *call, in *botPath) (*botOutput, error) { return botOf(c.account, in.ID) }

func (s *Server) changeBot(c *call, in *botPatch) (*botOutput, error) {
	change, err := owner.ParseBotChange(in.Body.Name, in.Body.URL, in.Body.Status)
	if err != nil {
		return nil, err
	}
	bot, _ := c.account.Bot(in.ID)
	moved := change.URL != nil && *change.URL != bot.URL
	if moved {
		if err := s.allowed(*change.URL); err != nil {
			return nil, err
		}
	}
	if _, err := c.account.ChangeBot(in.ID, change); err != nil {
		return nil, err
	}
	if moved {
		if err := s.mustPass(c, *change.URL); err != nil {
			return nil, err
		}
	}
	account, err := c.change(func(a owner.Account) ([]owner.Event, error) { return a.ChangeBot(in.ID, change) })
	if err != nil {
		return nil, err
	}
	return botOf(account, in.ID)
}

func (s *Server) removeBot(c *call, in *botPath) (*nothing, error) {
	_, err := c.change(func(a owner.Account) ([]owner.Event, error) { return a.RemoveBot(in.ID) })
	return new(nothing), err
}

func botOf(a owner.Account, id string) (*botOutput, error) {
	b, ok := a.Bot(id)
	if !ok {
		return nil, owner.ErrBotUnknown
	}
	return &botOutput{botBodyOf(a, b)}, nil
}

func botBodyOf(a owner.Account, b owner.Bot) botBody {
	return botBody{
		ID: b.ID, OwnerID: a.ID, Name: b.Name, Mode: b.Mode, URL: b.URL,
		Status: string(b.Status), CreatedAt: formatTime(b.CreatedAt),
	}
}
