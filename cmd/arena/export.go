package main

import (
	"context"
	"errors"
	"fmt"

	"hexarena/adapters/export"
	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
)

// exportCmd is `arena export`: ended matches as tables.
type exportCmd struct {
	stoppedArena
	Format         string `required:"" enum:"jsonl,parquet" help:"Format of the files: jsonl or parquet."`
	Out            string `required:"" type:"path" placeholder:"DIR" help:"Folder of the tables. One that holds an export is gone on with."`
	Mode           string `enum:",standard,parley" default:"" help:"Matches of one mode alone: standard or parley (default: both)."`
	Since          uint64 `default:"0" placeholder:"POSITION" help:"Only matches that ended behind this position of the log."`
	MatchesPerFile int    `default:"1000" help:"Matches to a file of each table."`
}

// Run runs `arena export`.
func (c exportCmd) Run(ctx context.Context, s streams) (err error) {
	log, closeLog, err := c.openLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	p := progress.New(s.err, "ladder events")
	done, err := export.Run(ctx, log, export.Options{
		Dir: c.Out, Format: c.Format, Mode: c.Mode, Since: eventstore.Position(c.Since), PerFile: c.MatchesPerFile,
		Tell: func(done, total uint64) { p.Show("export", done, total) },
	})
	p.Finish()
	if ctx.Err() != nil {
		return errors.New("stopped: the same command goes on from here")
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	fmt.Fprintf(s.out, "exported %d matches of %d events, in %d more files of each table, up to position %d\n", done.Matches, done.Events, done.Partitions, done.Position)
	return nil
}
