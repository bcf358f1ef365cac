package offline

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"hexarena/adapters/export"
	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/progress"
	"hexarena/cmd/arena/records"
	"hexarena/eventstore"
)

// ExportCmd implements `arena export`, which writes ended matches as tables.
type ExportCmd struct {
	logs.Stopped
	Records        string `type:"existingdir" placeholder:"DIR" help:"Export local matches from this folder of arena play --out, instead of the matches in a log."`
	Format         string `required:"" enum:"jsonl,parquet" help:"Format of the files: jsonl or parquet."`
	Out            string `required:"" type:"path" placeholder:"DIR" help:"Folder of the tables. If it holds an export, the command continues that export."`
	Mode           string `enum:",standard,parley" default:"" help:"Only matches of one mode: standard or parley (default: both)."`
	Since          uint64 `default:"0" placeholder:"POSITION" help:"Only matches that ended after this position of the log."`
	MatchesPerFile int    `default:"1000" help:"Number of matches in each file."`
}

// AfterApply rejects the flags about a log together with --records. The flag parser calls
// it. The environment may still name a log, because other commands need that.
func (c ExportCmd) AfterApply(call *kong.Context) error {
	if c.Records == "" {
		return nil
	}
	for _, p := range call.Path {
		if p.Flag != nil && (p.Flag.Name == "data" || p.Flag.Name == "eventstore") {
			return fmt.Errorf("--%s cannot be combined with --records: local records are not in a log", p.Flag.Name)
		}
	}
	return nil
}

// Run runs `arena export`.
func (c ExportCmd) Run(ctx context.Context, k *kong.Kong) (err error) {
	log, closeLog, err := c.openLog(ctx, k)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	p := progress.New(k.Stderr, "ladder events")
	done, err := export.Run(ctx, log, export.Options{
		Dir: c.Out, Format: c.Format, Mode: c.Mode, Since: eventstore.Position(c.Since), PerFile: c.MatchesPerFile,
		Report: func(done, total uint64) { p.Show("export", done, total) },
	})
	p.Finish()
	if ctx.Err() != nil {
		return errors.New("stopped: run the same command again to continue")
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	fmt.Fprintf(k.Stdout, "exported %d matches (%d events) in %d new files of each table, up to position %d\n", done.Matches, done.Events, done.Partitions, done.Position)
	return nil
}

// openLog opens the log to export, or makes one from local records.
func (c ExportCmd) openLog(ctx context.Context, k *kong.Kong) (log eventstore.Log, closeLog func() error, err error) {
	if c.Records == "" {
		return c.Open(ctx)
	}
	set, err := records.Open(c.Records)
	if err != nil {
		return nil, nil, fmt.Errorf("--records: %w", err)
	}
	p := progress.New(k.Stderr, "records")
	defer p.Finish()
	log, err = set.Log(ctx, func(done, total uint64) { p.Show("read", done, total) })
	if ctx.Err() != nil {
		return nil, nil, errors.New("stopped: run the same command again to continue")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--records: %w", err)
	}
	return log, func() error { return nil }, nil
}
