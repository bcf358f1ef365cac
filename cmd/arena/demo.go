package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/domain/ladder"
)

// demoCmd is `serve` at another pace, with house bots.
type demoCmd struct {
	config
	Pace demoPace `embed:""`
	Bots bool     `default:"true" negatable:"" help:"Start house bots."`
}

// Validate is called by the flag parser.
func (c *demoCmd) Validate() error {
	c.pace = pace(c.Pace)
	return c.judge()
}

// houseBot is one of the demo's bots. They think, so that people can watch. In
// standard there are three, so that a newcomer is always the fourth.
type houseBot struct {
	name, strategy, mode string
	think                time.Duration
}

var houseBots = []houseBot{
	{"Greta", "greedy", ladder.Standard, 25 * time.Millisecond},
	{"Gustav", "greedy", ladder.Standard, 25 * time.Millisecond},
	{"Rudi", "random", ladder.Standard, 25 * time.Millisecond},
	{"Gregor", "greedy", ladder.Parley, 200 * time.Millisecond},
	{"Grete", "greedy", ladder.Parley, 200 * time.Millisecond},
	{"Rita", "random", ladder.Parley, 200 * time.Millisecond},
	{"Ralf", "random", ladder.Parley, 200 * time.Millisecond},
}

// Run serves until ctx ends, with house bots in processes of their own.
func (c *demoCmd) Run(ctx context.Context, s streams) error {
	fresh := c.pace.Data == ""
	logs, err := c.folder()
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	defer func() { _ = logs.Close() }()
	a, err := open(ctx, c.config, newLogger(logs))
	if err != nil {
		if fresh {
			err = errors.Join(err, os.RemoveAll(c.pace.Data))
		}
		return err
	}
	fmt.Fprintf(s.out, "Hex Arena keeps this demo in %s\n", c.pace.Data)
	fmt.Fprintf(s.out, "Hex Arena is at %s  (leaderboard: %[1]s/leaderboard, matches: %[1]s/matches)\n%s", a.baseURL, a.addresses())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.run(ctx) })
	if c.Bots {
		g.Go(func() error { return unlessStopped(ctx, runHouseBots(ctx, a, s, logs)) })
	}
	g.Go(func() error { return unlessStopped(ctx, narrate(ctx, a.matches, a.log, s.out)) })
	return g.Wait()
}

// unlessStopped returns err while ctx lasts: what fails after that fails because
// of it.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// folder makes the demo's folder, a fresh one unless one was named, and opens
// the log file in it, behind what earlier runs wrote.
func (c *demoCmd) folder() (logs *os.File, err error) {
	if c.pace.Data == "" {
		c.pace.Data, err = os.MkdirTemp("", "hexarena-demo-")
	} else {
		err = os.MkdirAll(c.pace.Data, 0o700)
	}
	if err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(c.pace.Data, "arena.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// runHouseBots starts the house bots, and registers them as a stranger would:
// an account by the mail's link, a key, signed requests. Where the folder has
// been used before, they are registered already.
func runHouseBots(ctx context.Context, a *arena, s streams, logs *os.File) error {
	owner, err := houseOwner(ctx, a)
	if err != nil {
		return fmt.Errorf("house bots: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex // registrations one after the other
	for _, b := range houseBots {
		g.Go(func() error {
			return b.run(ctx, a, logs, func(url string) error {
				mu.Lock()
				defer mu.Unlock()
				if err := owner.register(ctx, b.name, b.mode, url); err != nil {
					return fmt.Errorf("register %s: %w", b.name, err)
				}
				fmt.Fprintf(s.out, "%s (%s) joins the %s ladder\n", b.name, b.strategy, b.mode)
				return nil
			})
		})
	}
	return g.Wait()
}

// run is the bot's process, from start to the end of ctx.
func (b houseBot) run(ctx context.Context, a *arena, logs *os.File, ready func(url string) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "bot", b.strategy, "--until-eof", "--listen", "127.0.0.1:0", "--think", b.think.String(), "--public-key", base64.StdEncoding.EncodeToString(a.public))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Second
	cmd.Stderr = logs
	alive, err := cmd.StdinPipe() // closes when this process ends, however it does
	if err != nil {
		return err
	}
	defer func() { _ = alive.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = ready(strings.TrimSpace(line))
	}
	if err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return cmd.Wait()
}
