package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/alecthomas/kong"

	"hexarena/adapters/client"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
)

type botsCmd struct {
	List    botsList    `cmd:"" help:"List your bots."`
	Add     botsAdd     `cmd:"" help:"Register a bot, which must pass the deploy check."`
	Show    botsShow    `cmd:"" help:"Show a bot, its health and its latest error."`
	Log     botsLog     `cmd:"" help:"Show a bot's decisions in a match, and why it got strikes."`
	History botsHistory `cmd:"" help:"List a bot's matches, with its placements and ratings."`
	Check   botsCheck   `cmd:"" help:"Run the deploy check."`
	Try     botsTry     `cmd:"" help:"Let a paused bot play a trial against house bots, and print the result."`
	Rename  botsRename  `cmd:"" help:"Rename a bot."`
	Move    botsMove    `cmd:"" help:"Move a bot to another URL, where it must pass the deploy check."`
	Pause   namedBot    `cmd:"" help:"Keep a bot out of matchmaking."`
	Unpause namedBot    `cmd:"" help:"Let a paused bot play again."`
	Remove  botsRemove  `cmd:"" help:"Remove a bot permanently; its matches stay. Asks for confirmation."`
}

func printBot(w io.Writer, b rest.Bot) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", client.OneLine(b.Name), b.Mode, b.Status, client.OneLine(b.URL), b.ID, healthState(b), seatingWords(b))
}

type botsList struct {
	signed
	Mode string `placeholder:"MODE" enum:"standard,parley," default:"" help:"Only bots of this mode: standard or parley."`
}

// Run runs `arena bots list`.
func (c botsList) Run(ctx context.Context, s *session) error {
	path := "/bots"
	if c.Mode != "" {
		path += "?mode=" + c.Mode
	}
	return askAndShow(ctx, s, get(owner.BotsRead, path), func(w io.Writer, list rest.Bots) {
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

	Paused bool `help:"Keep the bot out of matchmaking until you unpause it, for example to try it first."`
}

// Run runs `arena bots add`.
func (c botsAdd) Run(ctx context.Context, s *session) error {
	body := rest.NewBot{Name: c.Name, Mode: c.Mode, URL: c.URL}
	if c.Paused {
		body.Status = new("paused")
	}
	return askAndShow(ctx, s, post(owner.BotsWrite, "/bots", body), printBot)
}

// namedBot is the argument of commands about one bot.
type namedBot struct {
	signed
	Bot string `arg:"" help:"The bot, by its id or its name."`
}

// botsShow implements `arena bots show`.
type botsShow struct{ namedBot }

// Run prints a bot with its health.
func (c botsShow) Run(ctx context.Context, s *session) error {
	id, err := s.botID(ctx, c.Bot)
	if err != nil {
		return err
	}
	return askAndShow(ctx, s, get(owner.BotsRead, "/bots/"+id), func(w io.Writer, b rest.Bot) {
		printBot(w, b)
		printHealth(w, b, s.base)
	})
}

// botCalls maps each command that changes the status of a bot to its call.
var botCalls = map[string]request{
	"pause":   {scope: owner.BotsWrite, method: http.MethodPatch, body: rest.BotPatch{Status: new("paused")}},
	"unpause": {scope: owner.BotsWrite, method: http.MethodPatch, body: rest.BotPatch{Status: new("active")}},
}

// Run executes one of the commands in botCalls.
func (c namedBot) Run(ctx context.Context, s *session, call *kong.Context) error {
	return c.callAndShow(ctx, s, botCalls[call.Selected().Name])
}

// botID finds one of the caller's bots by its id or its name.
func (s *session) botID(ctx context.Context, name string) (string, error) {
	return s.idOf(ctx, "bot", name, get(owner.BotsRead, "/bots"))
}

// callAndShow makes one call about the bot. If the response contains the bot,
// callAndShow prints it.
func (c namedBot) callAndShow(ctx context.Context, s *session, r request) error {
	id, err := s.botID(ctx, c.Bot)
	if err != nil {
		return err
	}
	r.path = "/bots/" + id
	return askAndShow(ctx, s, r, printBot)
}

func (c namedBot) change(ctx context.Context, s *session, patch rest.BotPatch) error {
	return c.callAndShow(ctx, s, request{scope: owner.BotsWrite, method: http.MethodPatch, body: patch})
}

type botsRename struct {
	namedBot
	Name string `arg:"" help:"The new name."`
}

// Run runs `arena bots rename`.
func (c botsRename) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, rest.BotPatch{Name: &c.Name})
}

type botsMove struct {
	namedBot
	URL string `arg:"" help:"The new URL."`
}

// Run runs `arena bots move`.
func (c botsMove) Run(ctx context.Context, s *session) error {
	return c.change(ctx, s, rest.BotPatch{URL: &c.URL})
}

type botsRemove struct {
	namedBot
	final
}

// Run runs `arena bots remove`.
func (c botsRemove) Run(ctx context.Context, s *session, k *kong.Kong) error {
	id, err := s.botID(ctx, c.Bot)
	if err != nil {
		return err
	}
	if err := c.confirm(k, fmt.Sprintf("Remove the bot %s permanently? Its matches stay.", client.OneLine(c.Bot))); err != nil {
		return err
	}
	if _, err := s.call(ctx, request{owner.BotsWrite, http.MethodDelete, "/bots/" + id, nil}); err != nil {
		return err
	}
	s.say("removed the bot %s; its matches stay", client.OneLine(c.Bot))
	return nil
}

type botsCheck struct{ namedBot }

// errCheckFailed makes the program exit with status 1 after it has printed the steps of
// the check.
var errCheckFailed = errors.New("the bot does not pass the deploy check")

// Run runs `arena bots check`.
func (c botsCheck) Run(ctx context.Context, s *session) error {
	id, err := s.botID(ctx, c.Bot)
	if err != nil {
		return err
	}
	check, err := ask[rest.Check](ctx, s, post(owner.BotsWrite, "/bots/"+id+"/check", nil))
	if err != nil {
		return err
	}
	err = show(s, check, func(w io.Writer, check rest.Check) {
		for _, step := range check.Steps {
			result := "ok"
			if !step.OK {
				result = "failed"
			}
			fmt.Fprintf(w, "%s\t%s\t%d ms\t%s\n", step.Name, result, step.ElapsedMs, client.OneLine(step.Detail))
		}
	})
	if err == nil && !check.value.OK {
		err = errCheckFailed
	}
	return err
}
