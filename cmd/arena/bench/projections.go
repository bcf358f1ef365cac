package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/readmodels"
)

// projectionsCmd is `arena bench projections`: how fast read models are folded
// from scratch, from a node on loopback and from memory.
type projectionsCmd struct {
	Matches int    `default:"300" help:"how many matches the node's log holds"`
	Events  int    `default:"667" help:"how many events each has beside its start and its end"`
	Folded  int    `default:"30000" help:"how many matches are folded from memory, of their starts and ends alone"`
	Bots    int    `default:"1000" help:"how many bots play"`
	Dir     string `help:"folder for the log and the rows; default: a temporary one"`
	JSON    bool   `name:"json" help:"print one JSON object"`
}

// projectionsReport is what a run measured.
type projectionsReport struct {
	Events           int             `json:"events"` // in the node's log
	ReadAllPerSecond float64         `json:"readAllPerSecond"`
	Models           []rebuildReport `json:"models"`
}

// rebuildReport is one model's.
type rebuildReport struct {
	Name             string  `json:"name"`
	RebuildPerSecond float64 `json:"rebuildPerSecond"` // events of the log that a rebuild has passed
	OfReadAll        float64 `json:"ofReadAll"`
	FromMemory       float64 `json:"fromMemory"`    // the same, from the same log in memory
	Folded           int     `json:"folded"`        // events of a log in memory that were all selected
	FoldPerSecond    float64 `json:"foldPerSecond"` // of those, rows and commits included
}

// Run measures as the flags say and prints what it found.
func (c projectionsCmd) Run(ctx context.Context, k *kong.Kong) error {
	if c.Matches < 1 || c.Events < 0 || c.Folded < 1 || c.Bots < 4 {
		return errors.New("bench projections: there must be a match at least, and four bots")
	}
	report, err := measureProjections(ctx, c)
	if err != nil {
		return fmt.Errorf("bench projections: %w", err)
	}
	if c.JSON {
		return json.NewEncoder(k.Stdout).Encode(report)
	}
	return report.print(k.Stdout)
}

func measureProjections(ctx context.Context, flags projectionsCmd) (r projectionsReport, err error) {
	b := &logBench{dir: flags.Dir, served: make(chan error, 1)}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "arena-bench-"); err != nil {
			return r, err
		}
		b.made = true
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.openNode(ctx); err != nil {
		return r, err
	}
	h, err := newHistory(ctx, b.log, flags.Bots, flags.Events)
	if err == nil {
		err = h.live(ctx, flags.Matches, func(int) {})
	}
	if err != nil {
		return r, err
	}
	begun := time.Now()
	for _, err := range b.log.ReadAll(ctx, 0, eventstore.ReadOptions{}) {
		if err != nil {
			return r, err
		}
		r.Events++
	}
	r.ReadAllPerSecond = float64(r.Events) / time.Since(begun).Seconds()
	for _, m := range readmodels.New(b.log).All() {
		took, _, err := rebuildFrom(ctx, b.log, filepath.Join(b.dir, "from node"), m)
		if err != nil {
			return r, err
		}
		rate := float64(r.Events) / took.Seconds()
		r.Models = append(r.Models, rebuildReport{Name: m.Name(), RebuildPerSecond: rate, OfReadAll: rate / r.ReadAllPerSecond})
	}
	return r, r.fromMemory(ctx, filepath.Join(b.dir, "from memory"), flags)
}

// fromMemory folds a log like that of the node, and then one that holds what
// models select alone.
func (r *projectionsReport) fromMemory(ctx context.Context, dir string, flags projectionsCmd) error {
	for _, step := range []struct {
		matches, between int
		note             func(m *rebuildReport, events, folded int, took time.Duration)
	}{
		{flags.Matches, flags.Events, func(m *rebuildReport, events, _ int, took time.Duration) {
			m.FromMemory = float64(events) / took.Seconds()
		}},
		{flags.Folded, 0, func(m *rebuildReport, _, folded int, took time.Duration) {
			m.Folded, m.FoldPerSecond = folded, float64(folded)/took.Seconds()
		}},
	} {
		log := memory.New()
		h, err := newHistory(ctx, log, flags.Bots, step.between)
		if err == nil {
			err = h.live(ctx, step.matches, func(int) {})
		}
		if err != nil {
			return err
		}
		for i, m := range readmodels.New(log).All() {
			took, folded, err := rebuildFrom(ctx, log, dir, m)
			if err != nil {
				return err
			}
			step.note(&r.Models[i], h.events, folded, took)
		}
	}
	return nil
}

// rebuildFrom rebuilds a model, and returns how many events were selected.
func rebuildFrom(ctx context.Context, log eventstore.Log, dir string, m projections.Model) (took time.Duration, folded int, err error) {
	if err := projections.Remove(dir, m.Name()); err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	runner, err := projections.Open(dir, log, m, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, 0, err
	}
	err = errors.Join(runner.Sync(ctx), runner.Close())
	return time.Since(begun), int(runner.Folded()), err
}

func (r projectionsReport) print(w io.Writer) error {
	var errs []error
	line := func(format string, args ...any) {
		_, err := fmt.Fprintf(w, format, args...)
		errs = append(errs, err)
	}
	line("a log of %d events, $all read at %.0f events/s\n", r.Events, r.ReadAllPerSecond)
	for _, m := range r.Models {
		line("%-12s rebuilt at %8.0f events/s of the log, %5.2f times $all;  from memory %8.0f;  where all are selected, %6d events, %7.0f\n",
			m.Name, m.RebuildPerSecond, m.OfReadAll, m.FromMemory, m.Folded, m.FoldPerSecond)
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}
