package nodecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/alecthomas/kong"

	"hexarena/adapters/replica"
	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
)

// copyCmd implements `arena node copy`, which copies a log into an empty log, for
// example from the embedded node to a cluster. With --public, it keeps copying
// public data into another log.
type copyCmd struct {
	From string `required:"" placeholder:"ESDB://…" help:"The log to copy. Stop its writers first, or copy once more after they have stopped."`
	To   string `required:"" placeholder:"ESDB://…" help:"The log to copy to: an empty log, or a log that contains the start of an earlier copy."`

	Public bool `help:"Feed an analysts' node until the command is stopped. Copy only public data: ladders, keys, and matches that have ended."`
}

// Run runs `arena node copy`.
func (c copyCmd) Run(ctx context.Context, k *kong.Kong) error {
	if c.From == c.To {
		return errors.New("--from and --to are the same log")
	}
	var level slog.LevelVar
	level.Set(slog.LevelError) // no warnings until both logs respond, because the error below is clearer
	logger := slog.New(slog.NewTextHandler(k.Stderr, &slog.HandlerOptions{Level: &level}))
	from, err := logs.Open(ctx, "--from", c.From, logger)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := logs.Open(ctx, "--to", c.To, logger)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	level.Set(slog.LevelWarn)
	if c.Public {
		return feed(ctx, k, from, to)
	}
	p := progress.New(k.Stderr, "events")
	copied, err := esdb.Copy(ctx, from, to, p.Show)
	p.Finish()
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped: run the same command again to continue")
	case err != nil:
		return err
	}
	printCopied(k.Stdout, copied)
	return nil
}

func printCopied(out io.Writer, c esdb.Copied) {
	fmt.Fprintf(out, "copied and verified: %d events (%d of them by this run) in %d streams, %d of them tombstoned; metadata of %d streams\n",
		c.Events, c.Written, c.Streams, c.Tombstones, c.Described)
	if c.Expired > 0 {
		fmt.Fprintf(out, "left out: %d events older than their stream's $maxAge\n", c.Expired)
	}
	if c.Renumbered > 0 {
		fmt.Fprintf(out, "renumbered without gaps: %d streams that lack some revisions in the source\n", c.Renumbered)
	}
	fmt.Fprintf(out, "sha256 of all events, in order: %x\n", c.Sum)
}

// feed copies public data until ctx ends. It prints a line each time it has caught
// up.
func feed(ctx context.Context, k *kong.Kong, from, to eventstore.Log) error {
	p := progress.New(k.Stderr, "events")
	defer p.Finish()
	var printed replica.Progress
	return replica.Feed(ctx, from, to, func(now replica.Progress) {
		p.Show("publish", now.Events, 0)
		if now.CaughtUp && (now.Events > printed.Events || !printed.CaughtUp) {
			p.Finish()
			fmt.Fprintf(k.Stdout, "up to date: this run published %d matches and %d events, up to position %d of the source\n", now.Matches, now.Events, now.Position)
			printed = now
		}
	})
}
