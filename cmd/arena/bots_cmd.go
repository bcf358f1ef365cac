package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"hexarena/adapters/client"
)

type botsCmd struct {
	List    botsList    `cmd:"" help:"List your bots."`
	Add     botsAdd     `cmd:"" help:"Register a bot, which must pass the deploy check."`
	Show    botsShow    `cmd:"" help:"Show a bot."`
	Check   botsCheck   `cmd:"" help:"Run the deploy check."`
	Rename  botsRename  `cmd:"" help:"Give a bot another name."`
	Move    botsMove    `cmd:"" help:"Give a bot another URL, which must pass the deploy check."`
	Pause   botsPause   `cmd:"" help:"Have a bot sit out."`
	Unpause botsUnpause `cmd:"" help:"Have a bot seated again."`
	Remove  botsRemove  `cmd:"" help:"Remove a bot for good; its matches stay."`
}

// botAnswer is a bot as the arena answers it.
type botAnswer struct{ ID, Name, Mode, URL, Status string }

func (b botAnswer) line(w io.Writer) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", client.OneLine(b.Name), b.Mode, b.Status, client.OneLine(b.URL), b.ID)
}

const (
	botsRead  = "bots.read"
	botsWrite = "bots.write"
)

type botsList struct {
	signed
	Mode string `placeholder:"MODE" enum:"standard,parley," default:"" help:"Of this mode alone: standard or parley."`
}

// Run runs `arena bots list`.
func (c botsList) Run(ctx context.Context, s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	path := "/bots"
	if c.Mode != "" {
		path += "?mode=" + c.Mode
	}
	answer, err := v.call(ctx, botsRead, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return show(v.visit, answer, func(w io.Writer, list struct{ Bots []botAnswer }) {
		for _, b := range list.Bots {
			b.line(w)
		}
	})
}

type botsAdd struct {
	signed
	Name string `arg:"" help:"Name of the bot."`
	URL  string `arg:"" help:"Where it serves."`
	Mode string `enum:"standard,parley" default:"standard" help:"standard or parley; for the bot's lifetime."`
}

// Run runs `arena bots add`.
func (c botsAdd) Run(ctx context.Context, s streams) error {
	v, err := c.visit(s)
	if err != nil {
		return err
	}
	answer, err := v.call(ctx, botsWrite, http.MethodPost, "/bots", map[string]string{"name": c.Name, "mode": c.Mode, "url": c.URL})
	if err != nil {
		return err
	}
	return show(v.visit, answer, func(w io.Writer, b botAnswer) { b.line(w) })
}

// namedBot is the argument of commands about one bot.
type namedBot struct {
	signed
	Bot string `arg:"" help:"The bot, by its id or its name."`
}

type botsShow struct{ namedBot }

// Run runs `arena bots show`.
func (c botsShow) Run(ctx context.Context, s streams) error {
	return c.do(ctx, s, botsRead, http.MethodGet, "", nil)
}

type botsRename struct {
	namedBot
	Name string `arg:"" help:"Its name from now on."`
}

// Run runs `arena bots rename`.
func (c botsRename) Run(ctx context.Context, s streams) error {
	return c.change(ctx, s, "name", c.Name)
}

type botsMove struct {
	namedBot
	URL string `arg:"" help:"Where it serves from now on."`
}

// Run runs `arena bots move`.
func (c botsMove) Run(ctx context.Context, s streams) error { return c.change(ctx, s, "url", c.URL) }

type botsPause struct{ namedBot }

// Run runs `arena bots pause`.
func (c botsPause) Run(ctx context.Context, s streams) error {
	return c.change(ctx, s, "status", "paused")
}

type botsUnpause struct{ namedBot }

// Run runs `arena bots unpause`.
func (c botsUnpause) Run(ctx context.Context, s streams) error {
	return c.change(ctx, s, "status", "active")
}

type botsRemove struct{ namedBot }

// Run runs `arena bots remove`.
func (c botsRemove) Run(ctx context.Context, s streams) error {
	return c.do(ctx, s, botsWrite, http.MethodDelete, "", nil)
}

func (c namedBot) change(ctx context.Context, s streams, field, value string) error {
	return c.do(ctx, s, botsWrite, http.MethodPatch, "", map[string]string{field: value})
}

// do makes one call about the bot, and shows the bot where it is answered.
func (c namedBot) do(ctx context.Context, s streams, scope, method, suffix string, body any) error {
	v, answer, err := c.ask(ctx, s, scope, method, suffix, body)
	if err != nil {
		return err
	}
	return show(v.visit, answer, func(w io.Writer, b botAnswer) {
		if b.ID != "" {
			b.line(w)
		}
	})
}

func (c namedBot) ask(ctx context.Context, s streams, scope, method, suffix string, body any) (*ownersVisit, client.Answer, error) {
	v, err := c.visit(s)
	if err != nil {
		return nil, client.Answer{}, err
	}
	id, err := v.botID(ctx, c.Bot)
	if err != nil {
		return nil, client.Answer{}, err
	}
	answer, err := v.call(ctx, scope, method, "/bots/"+id+suffix, body)
	return v, answer, err
}

type botsCheck struct{ namedBot }

// errCheck says that a bot has not passed; its steps have been shown.
var errCheck = errors.New("the bot does not pass the deploy check")

// Run runs `arena bots check`; its exit status is 1 where the bot fails.
func (c botsCheck) Run(ctx context.Context, s streams) error {
	v, answer, err := c.ask(ctx, s, botsWrite, http.MethodPost, "/check", nil)
	if err != nil {
		return err
	}
	type step struct {
		Name, Detail string
		OK           bool
		ElapsedMs    int64
	}
	passed, err := checked(answer)
	if err != nil {
		return err
	}
	err = show(v.visit, answer, func(w io.Writer, check struct{ Steps []step }) {
		for _, step := range check.Steps {
			result := "ok"
			if !step.OK {
				result = "failed"
			}
			fmt.Fprintf(w, "%s\t%s\t%d ms\t%s\n", step.Name, result, step.ElapsedMs, client.OneLine(step.Detail))
		}
	})
	if err == nil && !passed {
		err = errCheck
	}
	return err
}

// botID finds one of the caller's bots by its id or its name.
func (c *ownersVisit) botID(ctx context.Context, named string) (string, error) {
	if uuid.Validate(named) == nil {
		return named, nil
	}
	answer, err := c.call(ctx, botsRead, http.MethodGet, "/bots", nil)
	if err != nil {
		return "", err
	}
	var list struct{ Bots []botAnswer }
	if err := decode(answer, &list); err != nil {
		return "", err
	}
	var ids []string
	for _, b := range list.Bots {
		if b.Name == named {
			ids = append(ids, b.ID)
		}
	}
	return theOne("bot", named, ids)
}

// theOne is the only id among those that a name stands for.
func theOne(what, name string, ids []string) (string, error) {
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("you have no %s that is called %q", what, name)
	case 1:
		return url.PathEscape(ids[0]), nil
	}
	return "", fmt.Errorf("you have more than one %s that is called %q: name it by its id: %s", what, name, strings.Join(ids, ", "))
}
