package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"hexarena/cmd/arena/demo"
)

// demoCmd implements `arena demo`. It runs `arena serve` with different defaults,
// starts house bots, and prints lines about matches.
type demoCmd struct {
	config
	Pace demoPace `embed:""`
	Bots bool     `default:"true" negatable:"" help:"Start house bots."`
}

// Validate checks the flags. The flag parser calls it.
func (c *demoCmd) Validate() error {
	c.pace = pace(c.Pace)
	return c.validate()
}

// Run serves until ctx ends.
func (c *demoCmd) Run(ctx context.Context, k *kong.Kong) error {
	fresh := c.pace.Data == ""
	logFile, err := c.openFolder()
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	defer func() { _ = logFile.Close() }()
	a, err := open(ctx, c.config, newLogger(logFile))
	if err != nil {
		if fresh {
			err = errors.Join(err, os.RemoveAll(c.pace.Data))
		}
		return err
	}
	fmt.Fprintf(k.Stdout, "Hex Arena keeps this demo in %s\n", c.pace.Data)
	fmt.Fprintf(k.Stdout, "Hex Arena is at %s  (leaderboard: %[1]s/leaderboard, matches: %[1]s/matches)\n%s", a.baseURL, a.addresses())
	go releaseMemory(ctx)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.run(ctx) })
	if c.Bots {
		running := demo.Arena{BaseURL: a.baseURL, Data: a.pace.Data, PublicKey: a.public}
		if dir, ok := strings.CutPrefix(a.mail(), "file:"); ok {
			running.MailDir = dir
		}
		g.Go(func() error { return unlessStopped(ctx, demo.RunHouseBots(ctx, running, k.Stdout, logFile)) })
	}
	g.Go(func() error { return unlessStopped(ctx, demo.PrintMatches(ctx, a.matches, a.log, a.baseURL, k.Stdout)) })
	return g.Wait()
}

// openFolder creates the demo's folder. Without --data, it chooses a new folder.
// It also opens the log file in the demo's folder for appending.
func (c *demoCmd) openFolder() (logFile *os.File, err error) {
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
