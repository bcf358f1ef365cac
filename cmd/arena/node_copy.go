package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/eventstore/esdb"
)

// nodeCopy is `arena node copy`: it moves a log into an empty one, from the
// embedded node to a cluster or back; or, with --public, keeps another fed with
// what everyone may know.
type nodeCopy struct {
	From string `required:"" placeholder:"ESDB://…" help:"The log to copy. Stop what writes to it, or copy once more when it has stopped."`
	To   string `required:"" placeholder:"ESDB://…" help:"Where to: an empty log, or one that an earlier copy was begun in."`

	Public bool `help:"Keep an analysts' node fed, until stopped, with what everyone may know: ladders, keys, and matches once they have ended."`
}

// Run runs `arena node copy`.
func (c nodeCopy) Run(ctx context.Context, s streams) error {
	if c.From == c.To {
		return errors.New("--from and --to are the same log")
	}
	var level slog.LevelVar
	level.Set(slog.LevelError) // till both answer: the error says it all
	logger := slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: &level}))
	from, err := openAnswering(ctx, "--from", c.From, logger)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := openAnswering(ctx, "--to", c.To, logger)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	if c.Public {
		return c.publish(ctx, s, from, to, &level)
	}
	level.Set(slog.LevelWarn)
	p := progress.New(s.err, "events")
	copied, err := esdb.Copy(ctx, from, to, p.Show)
	p.Finish()
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped: the same command goes on from here")
	case err != nil:
		return err
	}
	tellCopied(s.out, copied)
	return nil
}

// answerTime is how long a log may take that is named on the command line.
const answerTime = 10 * time.Second

// openAnswering opens a log that must answer; flag names the setting.
func openAnswering(ctx context.Context, flag, connection string, logger *slog.Logger) (*esdb.Log, error) {
	log, err := esdb.Open(connection, logger.With("log", flag))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := log.Ping(ctx); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("%s does not answer: %w", flag, err)
	}
	return log, nil
}

func tellCopied(out io.Writer, c esdb.Copied) {
	fmt.Fprintf(out, "copied and verified: %d events (%d of them now) in %d streams, %d of them tombstoned; metadata of %d streams\n",
		c.Events, c.Written, c.Streams, c.Tombstones, c.Described)
	if c.Expired > 0 {
		fmt.Fprintf(out, "left out: %d events whose $maxAge was over\n", c.Expired)
	}
	if c.Renumbered > 0 {
		fmt.Fprintf(out, "numbered without gaps: %d streams of which the source does not hold every revision\n", c.Renumbered)
	}
	fmt.Fprintf(out, "sha256 of all events in their order: %x\n", c.Sum)
}
