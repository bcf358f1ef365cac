package api

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type botPath struct {
	myAccount
	ID string `path:"id"`
}

// find returns an error if the caller does not own the bot.
func (p *botPath) find(c *call) error {
	if err := p.myAccount.find(c); err != nil {
		return err
	}
	if _, ok := c.account.Bot(p.ID); !ok {
		return owner.ErrBotUnknown
	}
	return nil
}

type newBot struct {
	myAccount
	Body rest.NewBot
}

type patchBot struct {
	botPath
	Body rest.BotPatch
}

type botsQuery struct {
	myAccount
	Mode string `query:"mode" enum:"standard,parley"`
}

// movesBot reports whether a request to change a bot contains a new URL.
func movesBot(c *call) bool {
	var named struct {
		URL json.RawMessage `json:"url"`
	}
	return json.Unmarshal(c.body, &named) == nil && named.URL != nil
}

func (s *Server) registerBot(c *call, in *newBot) (rest.Bot, error) {
	bot, err := owner.ParseBot(in.Body.Name, in.Body.Mode, in.Body.URL, in.Body.Status)
	if err != nil {
		return rest.Bot{}, err
	}
	if err := c.allowed(bot.URL); err != nil {
		return rest.Bot{}, err
	}
	id := uuid.NewString()
	if _, err := c.account.RegisterBot(id, bot); err != nil {
		return rest.Bot{}, err
	}
	if err := c.mustPass(id, bot.URL); err != nil {
		return rest.Bot{}, err
	}
	account, err := c.change(func(a owner.Account) ([]owner.Event, error) { return a.RegisterBot(id, bot) })
	if err != nil {
		return rest.Bot{}, err
	}
	return s.botBody(c, account, id)
}

func (s *Server) listBots(c *call, in *botsQuery) (rest.Bots, error) {
	bots := slices.DeleteFunc(slices.Clone(c.account.Bots), func(b owner.Bot) bool { return in.Mode != "" && b.Mode != in.Mode })
	return rest.Bots{Bots: s.botBodies(c, c.account, bots)}, nil
}

func (s *Server) getBot(c *call, in *botPath) (rest.Bot, error) {
	return s.botBody(c, c.account, in.ID)
}

func (s *Server) changeBot(c *call, in *patchBot) (rest.Bot, error) {
	change, err := owner.ParseBotChange(in.Body.Name, in.Body.URL, in.Body.Status)
	if err != nil {
		return rest.Bot{}, err
	}
	bot, _ := c.account.Bot(in.ID)
	moved := change.URL != nil && *change.URL != bot.URL
	if moved {
		if err := c.allowed(*change.URL); err != nil {
			return rest.Bot{}, err
		}
	}
	if _, err := c.account.ChangeBot(in.ID, change); err != nil {
		return rest.Bot{}, err
	}
	if moved {
		if err := c.mustPass(in.ID, *change.URL); err != nil {
			return rest.Bot{}, err
		}
	}
	account, err := c.change(func(a owner.Account) ([]owner.Event, error) { return a.ChangeBot(in.ID, change) })
	if err != nil {
		return rest.Bot{}, err
	}
	return s.botBody(c, account, in.ID)
}

func (s *Server) removeBot(c *call, in *botPath) (out nothing, err error) {
	_, err = c.change(func(a owner.Account) ([]owner.Event, error) { return a.RemoveBot(in.ID) })
	return out, err
}

// botBody returns one of an account's bots as its owner sees it.
func (s *Server) botBody(c *call, a owner.Account, id string) (rest.Bot, error) {
	b, ok := a.Bot(id)
	if !ok {
		return rest.Bot{}, owner.ErrBotUnknown
	}
	return s.botBodies(c, a, []owner.Bot{b})[0], nil
}

// botBodies returns some of an account's bots as their owner sees them.
func (s *Server) botBodies(c *call, a owner.Account, bots []owner.Bot) []rest.Bot {
	out := make([]rest.Bot, 0, len(bots))
	seatings := s.seatingsOf(c.ctx, a, bots)
	for _, b := range bots {
		out = append(out, rest.Bot{
			ID: b.ID, OwnerID: a.ID, Name: b.Name, Mode: b.Mode, URL: b.URL,
			Status: string(b.Status), CreatedAt: rest.FormatTime(b.CreatedAt),
			Health: s.healthOf(b), Seating: seatings[b.ID], Trial: latestTrial(b.Trial),
		})
	}
	return out
}

// latestTrial returns a bot's latest trial, or nil if it had none.
func latestTrial(t owner.Trial) *rest.BotTrial {
	if t.ID == "" {
		return nil
	}
	out := &rest.BotTrial{ID: t.ID, OrderedAt: rest.FormatTime(t.OrderedAt), EndedAt: rest.FormatTimeOrNull(t.EndedAt)}
	if t.Outcome != "" {
		out.Outcome = &t.Outcome
	}
	return out
}
