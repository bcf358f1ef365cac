package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
)

type botsCmd struct {
	List    botsList    `cmd:"" help:"List your bots."`
	Add     botsAdd     `cmd:"" help:"Register a bot, which must pass the deploy check."`
	Show    botsShow    `cmd:"" help:"Show a bot."`
	Check   botsCheck   `cmd:"" help:"Run the deploy check."`
	Rename  botsRename  `cmd:"" help:"Give a bot another name."`
	Move    botsMove    `cmd:"" help:"Give a bot another URL, which must pass the deploy check."`
	Pause   botsPause   `cmd:"" help:"Keep a bot out of matchmaking."`
	Unpause botsUnpause `cmd:"" help:"Let a paused bot play again."`
	Remove  botsRemove  `cmd:"" help:"Remove a bot for good; its matches stay."`
}

func printBot(w io.Writer, b rest.Bot) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", client.OneLine(b.Name), b.Mode, b.Status, client.OneLine(b.URL), b.ID)
}

const (
	botsRead  = "bots.read"
	botsWrite = "bots.write"
)

type botsList struct {
	signed
	Mode string `placeholder:"MODE" enum:"standard,parley," default:"" help:"Only bots of this mode: standard or parley."`
}

// Run runs `arena bots list`.
func (c botsList) Run(ctx context.Context, k *kong.Kong) error {
	s, err := c.session(k)
	if err != nil {
		return err
	}
	path := "/bots"
	if c.Mode != "" {
		path += "?mode=" + c.Mode
	}
	return list(ctx, s, botsRead, path, func(w io.Writer, list rest.Bots) {
		for _, b := range list.Bots {
			printBot(w, b)
		}
	})
}

type botsAdd struct {
	signed
	Name string `arg:"" help:"Name of the bot."`
	URL  string `arg:"" help:"The bot's URL."`
	Mode string `enum:"standard,parley" default:"standard" help:"standard or parley; it cannot be changed later."`
}

// Run runs `arena bots add`.
func (c botsAdd) Run(ctx context.Context, k *kong.Kong) error {
	s, err := c.session(k)
	if err != nil {
		return err
	}
	answer, err := s.call(ctx, botsWrite, http.MethodPost, "/bots", rest.NewBot{Name: c.Name, Mode: c.Mode, URL: c.URL})
	if err != nil {
		return err
	}
	return show(s.session, answer, printBot)
}

// namedBot is the argument of commands about one bot.
type namedBot struct {
	signed
	Bot string `arg:"" help:"The bot, by its id or its name."`
}

type botsShow struct{ namedBot }

// Run runs `arena bots show`.
func (c botsShow) Run(ctx context.Context, k *kong.Kong) error {
	return c.callAndShow(ctx, k, botsRead, http.MethodGet, nil)
}

type botsRename struct {
	namedBot
	Name string `arg:"" help:"The new name."`
}

// Run runs `arena bots rename`.
func (c botsRename) Run(ctx context.Context, k *kong.Kong) error {
	return c.change(ctx, k, "name", c.Name)
}

type botsMove struct {
	namedBot
	URL string `arg:"" help:"The new URL."`
}

// Run runs `arena bots move`.
func (c botsMove) Run(ctx context.Context, k *kong.Kong) error { return c.change(ctx, k, "url", c.URL) }

type botsPause struct{ namedBot }

// Run runs `arena bots pause`.
func (c botsPause) Run(ctx context.Context, k *kong.Kong) error {
	return c.change(ctx, k, "status", "paused")
}

type botsUnpause struct{ namedBot }

// Run runs `arena bots unpause`.
func (c botsUnpause) Run(ctx context.Context, k *kong.Kong) error {
	return c.change(ctx, k, "status", "active")
}

type botsRemove struct{ namedBot }

// Run runs `arena bots remove`.
func (c botsRemove) Run(ctx context.Context, k *kong.Kong) error {
	return c.callAndShow(ctx, k, botsWrite, http.MethodDelete, nil)
}

func (c namedBot) change(ctx context.Context, k *kong.Kong, field, value string) error {
	return c.callAndShow(ctx, k, botsWrite, http.MethodPatch, map[string]string{field: value})
}

// callAndShow makes one call about the bot, and prints the bot if the answer
// holds it.
func (c namedBot) callAndShow(ctx context.Context, k *kong.Kong, scope, method string, body any) error {
	s, answer, err := c.call(ctx, k, scope, method, "", body)
	if err != nil {
		return err
	}
	return show(s.session, answer, func(w io.Writer, b rest.Bot) {
		if b.ID != "" {
			printBot(w, b)
		}
	})
}

func (c namedBot) call(ctx context.Context, k *kong.Kong, scope, method, suffix string, body any) (*ownerSession, client.Answer, error) {
	s, err := c.session(k)
	if err != nil {
		return nil, client.Answer{}, err
	}
	id, err := s.botID(ctx, c.Bot)
	if err != nil {
		return nil, client.Answer{}, err
	}
	answer, err := s.call(ctx, scope, method, "/bots/"+id+suffix, body)
	return s, answer, err
}

type botsCheck struct{ namedBot }

// errCheckFailed makes the exit status 1. The steps have been printed by then.
var errCheckFailed = errors.New("the bot does not pass the deploy check")

// Run runs `arena bots check`.
func (c botsCheck) Run(ctx context.Context, k *kong.Kong) error {
	s, answer, err := c.call(ctx, k, botsWrite, http.MethodPost, "/check", nil)
	if err != nil {
		return err
	}
	var check rest.Check
	if err := decode(answer, &check); err != nil {
		return err
	}
	err = show(s.session, answer, func(w io.Writer, check rest.Check) {
		for _, step := range check.Steps {
			result := "ok"
			if !step.OK {
				result = "failed"
			}
			fmt.Fprintf(w, "%s\t%s\t%d ms\t%s\n", step.Name, result, step.ElapsedMs, client.OneLine(step.Detail))
		}
	})
	if err == nil && !check.OK {
		err = errCheckFailed
	}
	return err
}

// botID finds one of the caller's bots by its id or its name.
func (s *ownerSession) botID(ctx context.Context, name string) (string, error) {
	if uuid.Validate(name) == nil {
		return name, nil
	}
	answer, err := s.call(ctx, botsRead, http.MethodGet, "/bots", nil)
	if err != nil {
		return "", err
	}
	var list rest.Bots
	if err := decode(answer, &list); err != nil {
		return "", err
	}
	var ids []string
	for _, b := range list.Bots {
		if b.Name == name {
			ids = append(ids, b.ID)
		}
	}
	return onlyID("bot", name, ids)
}

// onlyID returns the id of the only thing with a name.
func onlyID(what, name string, ids []string) (string, error) {
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("you have no %s named %q", what, name)
	case 1:
		return url.PathEscape(ids[0]), nil
	}
	return "", fmt.Errorf("you have more than one %s named %q; use its id: %s", what, name, strings.Join(ids, ", "))
}
