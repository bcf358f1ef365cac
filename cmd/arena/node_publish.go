package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"hexarena/adapters/publish"
	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
)

// publish is `arena node copy --public`: it keeps an analysts' node fed until it
// is stopped.
func (c nodeCopy) publish(ctx context.Context, s streams, from, to eventstore.Log, level *slog.LevelVar) error {
	level.Set(slog.LevelWarn)
	p := progress.New(s.err, "events")
	defer p.Finish()
	var told publish.Progress
	return publish.Feed(ctx, from, to, func(now publish.Progress) {
		p.Show("publish", now.Events, 0)
		if now.CaughtUp && (now.Events > told.Events || !told.CaughtUp) {
			p.Finish()
			tellPublished(s.out, now)
			told = now
		}
	})
}

func tellPublished(out io.Writer, now publish.Progress) {
	fmt.Fprintf(out, "up to date: %d matches and %d events published by this run, up to position %d of the source\n", now.Matches, now.Events, now.Position)
}
