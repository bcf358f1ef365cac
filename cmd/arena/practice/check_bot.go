package practice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/practice/conformance"
	"hexarena/cmd/arena/progress"
)

type checkBotCmd struct {
	Bot  string `arg:"" placeholder:"BOT" help:"The bot: a URL, or cmd:COMMAND for a program that listens on {port}."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Help returns the details for --help.
func (c *checkBotCmd) Help() string {
	return `check-bot asks the bot for about 400 decisions from real games and lets the engine judge the answers. It prints each check with its result. Of a failed check, it prints the request, the answer and the reason. "FAILED" would cost strikes or the registration. "advice" would not.

The exit status is 0 if no check failed, and 1 otherwise.`
}

// Validate checks the argument. The flag parser calls it.
func (c *checkBotCmd) Validate() error {
	b, err := parseBot(c.Bot)
	if err == nil && b.house != "" {
		err = fmt.Errorf("bot %q plays without a connection; check a program instead: cmd:arena bot %s --listen 127.0.0.1:%s", c.Bot, b.house, portField)
	}
	return err
}

// Run checks the bot and prints the report.
func (c *checkBotCmd) Run(ctx context.Context, k *kong.Kong) error {
	report, err := c.check(ctx, progress.New(k.Stderr, "checks"), conformance.Options{})
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(k.Stdout).Encode(report)
	} else {
		err = report.Print(k.Stdout)
	}
	switch {
	case err != nil:
		return err
	case report.Interrupted:
		return errors.New("stopped before all checks were made")
	case report.Failed == 1:
		return fmt.Errorf("bot %q failed 1 check", c.Bot)
	case report.Failed > 1:
		return fmt.Errorf("bot %q failed %d checks", c.Bot, report.Failed)
	}
	return nil
}

// check runs the checks. It ends the bot's program.
func (c *checkBotCmd) check(ctx context.Context, p *progress.Display, o conformance.Options) (*conformance.Report, error) {
	b, err := parseBot(c.Bot)
	if err != nil {
		return nil, err
	}
	defer p.Finish()
	o.Bot, o.BotID, o.Key = b.spec, checkedBot, platformKey
	o.Show = func(done, total int) { p.Show("check", uint64(done), uint64(total)) }
	if b.command == "" {
		if err := reachable(ctx, []bot{b}); err != nil {
			return nil, err
		}
		o.Address = func(context.Context) (string, error) { return b.url, nil }
		return conformance.Run(ctx, o)
	}
	starter := &starter{restarts: make([]atomic.Int64, 1)}
	program := starter.newProcess(&b, 0, 0)
	defer program.close()
	if err := ready(ctx, []*process{program}); err != nil {
		return nil, err
	}
	o.Address, o.Ended, o.Memory = program.address, program.ended, program.memory
	return conformance.Run(ctx, o)
}

// checkedBot is the id of every bot in its upgrades.
const checkedBot = "00000000-0000-4000-8000-000000000001"
