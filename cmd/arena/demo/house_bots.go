// Package demo implements the features that `arena demo` adds to a running arena. It
// starts house bots in their own processes and registers them over REST, as any owner
// would register a bot. It also prints lines about the matches for people at the
// terminal.
package demo

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hexarena/domain/ladder"
)

// Arena is a running arena.
type Arena struct {
	BaseURL   string
	Data      string // the arena's data folder, which also holds the house bots' key and secrets
	MailDir   string // the folder of the arena's emails; empty if emails are sent by SMTP
	PublicKey ed25519.PublicKey
}

// houseBot is one of the demo's bots. The bots wait before they answer, so that
// people can follow the matches. The standard ladder has three house bots, so that a
// newcomer always completes a table of four.
type houseBot struct {
	name, strategy, mode string
	think                time.Duration
}

var houseBots = []houseBot{
	{"Greta", "greedy", ladder.Standard, 25 * time.Millisecond},
	{"Gustav", "search", ladder.Standard, 25 * time.Millisecond},
	{"Rudi", "random", ladder.Standard, 25 * time.Millisecond},
	{"Gregor", "greedy", ladder.Parley, 200 * time.Millisecond},
	{"Grete", "montecarlo", ladder.Parley, 200 * time.Millisecond},
	{"Rita", "random", ladder.Parley, 200 * time.Millisecond},
	{"Ralf", "random", ladder.Parley, 200 * time.Millisecond},
}

// RunHouseBots starts the house bots and registers them. It signs up with a link from
// an email, registers a key, and signs its requests with that key. If an earlier demo
// used the same data folder, RunHouseBots only updates the URLs of the registered
// bots. It prints a line to out for each bot that joins. The bots write their logs to
// botLog. RunHouseBots returns when ctx ends.
func RunHouseBots(ctx context.Context, a Arena, out, botLog io.Writer) error {
	owner, err := houseOwner(ctx, a)
	if err != nil {
		return fmt.Errorf("house bots: %w", err)
	}
	secrets := filepath.Join(a.Data, "house-nonces")
	if err := os.MkdirAll(secrets, 0o700); err != nil {
		return fmt.Errorf("house bots: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex // one registration at a time
	for _, b := range houseBots {
		g.Go(func() error {
			return b.run(ctx, a.PublicKey, filepath.Join(secrets, b.name), botLog, func(url string) error {
				mu.Lock()
				defer mu.Unlock()
				if err := owner.Register(ctx, b.name, b.mode, url); err != nil {
					return fmt.Errorf("register %s: %w", b.name, err)
				}
				fmt.Fprintf(out, "%s (%s) joins the %s ladder\n", b.name, b.strategy, b.mode)
				return nil
			})
		})
	}
	return g.Wait()
}

// run runs the bot's process until ctx ends. It calls ready with the bot's URL. secret
// is the path of the file with the secret from which the bot derives its nonces.
func (b houseBot) run(ctx context.Context, arenaKey ed25519.PublicKey, secret string, log io.Writer, ready func(url string) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "bot", b.strategy, "--until-eof", "--listen", "127.0.0.1:0", "--think", b.think.String(),
		"--nonce-secret", secret, "--public-key", base64.StdEncoding.EncodeToString(arenaKey))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Second
	cmd.Stderr = log
	alive, err := cmd.StdinPipe() // the pipe closes when this process ends, even after kill -9
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
