package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/adapters/export"
	"hexarena/adapters/replica"
	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
)

// exportCmd is `arena bench export`: what a day of play costs those who keep
// and study it. A thousand tables for a day: --tables 1000 --mode parley
// --matches 24.
type exportCmd struct {
	Tables  int    `default:"20" help:"how many tables play at once"`
	Matches int    `default:"10" help:"how many matches each plays: a day at the default pace has 24 of parley or 254 of standard at most"`
	Mode    string `default:"standard" enum:"standard,parley" help:"what is played"`
	Dir     string `help:"folder for the logs and the tables; default: a temporary one"`
	JSON    bool   `name:"json" help:"print one JSON object"`
}

// exportReport is what a run measured. Seconds are of one thing at a time.
type exportReport struct {
	Tables        int     `json:"tables"`
	Matches       int     `json:"matches"`
	Events        int     `json:"events"` // of the whole log
	PlaySeconds   float64 `json:"playSeconds"`
	LogMB         float64 `json:"logMB"`
	ReadAllSecs   float64 `json:"readAllSeconds"`
	SubscribeSecs float64 `json:"subscribeSeconds"`

	Exports []formatReport `json:"exports"`

	PublishSecs float64 `json:"publishSeconds"`
	PublishedMB float64 `json:"publishedMB"`
	MemoryMB    float64 `json:"memoryMB"` // resident at last, of the whole process
}

// formatReport is an export in one format.
type formatReport struct {
	Format    string  `json:"format"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"perSecond"` // events of matches
	OfReadAll float64 `json:"ofReadAll"` // times the rate at which $all was read
	MB        float64 `json:"mb"`
}

// Run measures as the flags say and prints what it found.
func (c exportCmd) Run(ctx context.Context, k *kong.Kong) (err error) {
	if c.Tables < 1 || c.Matches < 1 {
		return errors.New("bench export: there must be a table, and a match for it")
	}
	dir := c.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "arena-bench-"); err != nil {
			return fmt.Errorf("bench export: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	p := progress.New(k.Stderr, "")
	defer p.Finish()
	r := exportReport{Tables: c.Tables, Matches: c.Tables * c.Matches}
	if err := r.measure(ctx, dir, c, p); err != nil {
		return fmt.Errorf("bench export: %w", err)
	}
	p.Finish()
	if c.JSON {
		return json.NewEncoder(k.Stdout).Encode(r)
	}
	return r.print(k.Stdout)
}

func (r *exportReport) measure(ctx context.Context, dir string, flags exportCmd, p *progress.Display) (err error) {
	b := &logBench{dir: dir, served: make(chan error, 1)}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.openNode(ctx); err != nil {
		return err
	}
	day := newSimulatedDay(b.log, flags.Mode, flags.Tables)
	for _, step := range []func() error{
		func() error { return timed(&r.PlaySeconds, func() error { return day.play(ctx, flags.Matches, p) }) },
		func() error { return timed(&r.ReadAllSecs, func() error { return r.readAll(ctx, b.log) }) },
		func() error { return timed(&r.SubscribeSecs, func() error { return r.subscribe(ctx, b.log) }) },
		func() error { return r.export(ctx, b.log, dir, export.Parquet, p) },
		func() error { return r.export(ctx, b.log, dir, export.JSONL, p) },
		func() error { return r.publish(ctx, b.log, filepath.Join(dir, "analysts"), p) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if r.MemoryMB, err = residentMB(); err != nil {
		return err
	}
	return r.size(&r.LogMB, filepath.Join(dir, "node"))
}

// timed notes how many seconds f takes.
func timed(seconds *float64, f func() error) error {
	begun := time.Now()
	err := f()
	*seconds = time.Since(begun).Seconds()
	return err
}

func (r *exportReport) size(mb *float64, dir string) error {
	size, err := folderSize(dir)
	*mb += float64(size) / (1 << 20)
	return err
}

func (r *exportReport) readAll(ctx context.Context, log eventstore.Log) error {
	for _, err := range log.ReadAll(ctx, 0, eventstore.ReadOptions{}) {
		if err != nil {
			return err
		}
		r.Events++
	}
	return nil
}

// subscribe takes all events from the start until it is live.
func (r *exportReport) subscribe(ctx context.Context, log eventstore.Log) error {
	n := 0
	for m, err := range log.Subscribe(ctx, 0, eventstore.Filter{}) {
		if err != nil {
			return err
		}
		if m.Event != nil {
			n++
		}
		if m.CaughtUp {
			break
		}
	}
	if n != r.Events {
		return fmt.Errorf("%d events were subscribed instead of %d", n, r.Events)
	}
	return nil
}

func (r *exportReport) export(ctx context.Context, log eventstore.Log, dir, format string, p *progress.Display) error {
	f := formatReport{Format: format}
	out := filepath.Join(dir, format)
	var done export.Done
	err := timed(&f.Seconds, func() (err error) {
		done, err = export.Run(ctx, log, export.Options{
			Dir: out, Format: format, PerFile: 1000, Report: func(done, total uint64) { p.Show("export as "+format, done, total) },
		})
		return err
	})
	if err != nil {
		return err
	}
	if done.Matches != r.Matches {
		return fmt.Errorf("%d matches were exported instead of %d", done.Matches, r.Matches)
	}
	f.PerSecond = float64(done.Events) / f.Seconds
	f.OfReadAll = f.PerSecond / (float64(r.Events) / r.ReadAllSecs)
	tables, err := filepath.Glob(filepath.Join(out, "*s"))
	for _, table := range tables {
		err = errors.Join(err, r.size(&f.MB, table))
	}
	r.Exports = append(r.Exports, f)
	return err
}

// publish feeds a second node until it is up to date.
func (r *exportReport) publish(ctx context.Context, from eventstore.Log, dir string, p *progress.Display) (err error) {
	b := &logBench{dir: dir, served: make(chan error, 1)}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.openNode(ctx); err != nil {
		return err
	}
	within, enough := context.WithCancel(ctx)
	defer enough()
	var last replica.Progress
	err = timed(&r.PublishSecs, func() error {
		return replica.Feed(within, from, b.log, func(now replica.Progress) {
			p.Show("publish", uint64(now.Matches), uint64(r.Matches))
			if last = now; now.CaughtUp {
				enough()
			}
		})
	})
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && last.Matches != r.Matches {
		err = fmt.Errorf("%d matches were published instead of %d", last.Matches, r.Matches)
	}
	return errors.Join(err, r.size(&r.PublishedMB, filepath.Join(dir, "node")))
}

func (r exportReport) print(w io.Writer) error {
	rate := func(seconds float64) float64 { return float64(r.Events) / seconds }
	_, err := fmt.Fprintf(w, `%d tables, %d matches, %d events, played in %.0f s; the log has %.0f MB, %.0f bytes an event
all of $all               %8.1f s  %8.0f events/s
subscribed from the start %8.1f s  %8.0f events/s
`, r.Tables, r.Matches, r.Events, r.PlaySeconds, r.LogMB, r.LogMB*(1<<20)/float64(r.Events), r.ReadAllSecs, rate(r.ReadAllSecs), r.SubscribeSecs, rate(r.SubscribeSecs))
	for _, f := range r.Exports {
		if err == nil {
			_, err = fmt.Fprintf(w, "exported as %-13s %8.1f s  %8.0f events/s, %.2f times $all; %.0f MB\n", f.Format, f.Seconds, f.PerSecond, f.OfReadAll, f.MB)
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "published to a second node %7.1f s  %8.0f events/s; %.0f MB\nmemory of the whole process %.0f MB\n", r.PublishSecs, rate(r.PublishSecs), r.PublishedMB, r.MemoryMB)
	}
	return err
}
