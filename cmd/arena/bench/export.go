package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"hexarena/adapters/export"
	"hexarena/adapters/replica"
	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/progress"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// exportCmd implements `arena bench export`. It measures what it costs to store,
// export and publish the matches of a day. To simulate a day of a thousand tables,
// use --tables 1000 --mode parley --matches 24.
type exportCmd struct {
	Tables  int    `default:"20" help:"how many tables play at the same time"`
	Matches int    `default:"10" help:"how many matches each table plays; a day at the default pace has up to 24 parley or 254 standard matches"`
	Mode    string `default:"standard" enum:"standard,parley" help:"the mode of the tables"`
	Dir     string `help:"folder for the logs and the tables (default: a temporary folder)"`
}

// exportReport holds the figures of the steps, which run one after another.
type exportReport struct {
	Tables        int     `json:"tables"`
	Matches       int     `json:"matches"`
	Events        int     `json:"events"` // in the whole log
	PlaySeconds   float64 `json:"playSeconds"`
	LogMB         float64 `json:"logMB"`
	ReadAllSecs   float64 `json:"readAllSeconds"`
	SubscribeSecs float64 `json:"subscribeSeconds"`

	Exports []formatReport `json:"exports"`

	PublishSecs float64 `json:"publishSeconds"`
	PublishedMB float64 `json:"publishedMB"`
	MemoryMB    float64 `json:"memoryMB"` // resident memory of the whole process at the end
}

// formatReport holds the figures of an export in one format.
type formatReport struct {
	Format    string  `json:"format"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"perSecond"` // match events
	OfReadAll float64 `json:"ofReadAll"` // rate of the export, as a multiple of the rate at which $all was read
	MB        float64 `json:"mb"`
}

func (c exportCmd) setup() setup { return setup{"export", c.Dir, "items"} }

func (c exportCmd) measure(ctx context.Context, dir string, p *progress.Display) (report, error) {
	if c.Tables < 1 || c.Matches < 1 {
		return nil, errors.New("--tables and --matches must be above zero")
	}
	r := &exportReport{Tables: c.Tables, Matches: c.Tables * c.Matches}
	return r, withNode(ctx, filepath.Join(dir, "node"), func(n *logs.Embedded) error {
		return inOrder(
			timed(&r.PlaySeconds, time.Second, func() error { return playMatches(ctx, n.Log, c.Mode, r.Tables, r.Matches, p) }),
			timed(&r.ReadAllSecs, time.Second, into(&r.Events, func() (int, error) { return count(n.Log.ReadAll(ctx, 0, eventstore.ReadOptions{}), nil) })),
			timed(&r.SubscribeSecs, time.Second, func() error { return r.subscribe(ctx, n.Log) }),
			func() error { return r.export(ctx, n.Log, filepath.Join(dir, export.Parquet), export.Parquet, p) },
			func() error { return r.export(ctx, n.Log, filepath.Join(dir, export.JSONL), export.JSONL, p) },
			func() error { return r.publish(ctx, n.Log, filepath.Join(dir, "analysts"), p) },
			into(&r.MemoryMB, ownMB),
			into(&r.LogMB, func() (float64, error) { return folderMB(filepath.Join(dir, "node")) }),
		)
	})
}

// playAtOnce is the maximum number of tables that play at the same time.
const playAtOnce = 250

// pace is the minimum time between the starts of two matches at a table. For parley,
// this is the default rest. For standard, it is the default rest plus 40 seconds for
// the tick and the match. The simulated bots answer immediately, so a match can start
// as soon as its table may play again.
var pace = map[string]time.Duration{ladder.Standard: 340 * time.Second, ladder.Parley: time.Hour}

// playMatches plays whole matches, the same number at each table, and rates them. As in
// a real arena, the events of different matches are interleaved in the log.
func playMatches(ctx context.Context, log eventstore.Log, mode string, tables, total int, p *progress.Display) error {
	s := newSimulation(log, mode, tables)
	now := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC)
	for played := 0; played < total; now = now.Add(pace[mode]) {
		matches, err := s.seat(ctx, now)
		if err != nil {
			return err
		}
		if err := inParallel(ctx, playAtOnce, len(matches), func(ctx context.Context, i int) error { return matches[i].playOut(ctx, log) }); err != nil {
			return err
		}
		for _, m := range matches {
			if err := s.finish(ctx, now, m); err != nil {
				return err
			}
		}
		played += len(matches)
		p.Show("playing matches", uint64(played), uint64(total))
	}
	return nil
}

// subscribe opens a subscription at the start of the log, and receives events until the
// subscription is live.
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
	return unlessEqual(n, r.Events, "events were received")
}

func (r *exportReport) export(ctx context.Context, log eventstore.Log, dir, format string, p *progress.Display) error {
	f := formatReport{Format: format}
	var done export.Done
	options := export.Options{Dir: dir, Format: format, PerFile: 1000, Report: func(done, total uint64) { p.Show("export as "+format, done, total) }}
	err := inOrder(
		timed(&f.Seconds, time.Second, into(&done, func() (export.Done, error) { return export.Run(ctx, log, options) })),
		into(&f.MB, func() (float64, error) { return folderMB(dir) }),
	)
	f.PerSecond = float64(done.Events) / f.Seconds
	f.OfReadAll = f.PerSecond / (float64(r.Events) / r.ReadAllSecs)
	r.Exports = append(r.Exports, f)
	return errors.Join(err, unlessEqual(done.Matches, r.Matches, "matches were exported"))
}

// publish copies events to a second node until that node is up to date.
func (r *exportReport) publish(ctx context.Context, from eventstore.Log, dir string, p *progress.Display) error {
	var last replica.Progress
	err := withNode(ctx, dir, func(to *logs.Embedded) error {
		feeding, stop := context.WithCancel(ctx)
		defer stop()
		return timed(&r.PublishSecs, time.Second, func() error {
			return replica.Feed(feeding, from, to.Log, func(now replica.Progress) {
				p.Show("publish", uint64(now.Matches), uint64(r.Matches))
				if last = now; now.CaughtUp {
					stop()
				}
			})
		})()
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	r.PublishedMB, err = folderMB(dir)
	return errors.Join(err, unlessEqual(last.Matches, r.Matches, "matches were published"))
}

func (r *exportReport) print(w io.Writer) {
	rate := func(seconds float64) float64 { return float64(r.Events) / seconds }
	fmt.Fprintf(w, `%d tables, %d matches, %d events, played in %.0f s; the log has %.0f MB, %.0f bytes an event
all of $all               %8.1f s  %8.0f events/s
subscribed from the start %8.1f s  %8.0f events/s
`, r.Tables, r.Matches, r.Events, r.PlaySeconds, r.LogMB, r.LogMB*(1<<20)/float64(r.Events), r.ReadAllSecs, rate(r.ReadAllSecs), r.SubscribeSecs, rate(r.SubscribeSecs))
	for _, f := range r.Exports {
		fmt.Fprintf(w, "exported as %-13s %8.1f s  %8.0f events/s, %.2f times $all; %.0f MB\n", f.Format, f.Seconds, f.PerSecond, f.OfReadAll, f.MB)
	}
	fmt.Fprintf(w, "published to a second node %7.1f s  %8.0f events/s; %.0f MB\nmemory of the whole process %.0f MB\n", r.PublishSecs, rate(r.PublishSecs), r.PublishedMB, r.MemoryMB)
}
