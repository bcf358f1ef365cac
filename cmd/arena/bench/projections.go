package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/readmodels"
)

// projectionsCmd implements `arena bench projections`. It measures how fast
// read models are rebuilt, from a node on loopback and from memory.
type projectionsCmd struct {
	Matches int    `default:"300" help:"how many matches the node's log contains"`
	Events  int    `default:"667" help:"how many events each match has besides its start and end"`
	Folded  int    `default:"30000" help:"how many matches with only a start and an end are folded from memory"`
	Bots    int    `default:"1000" help:"how many bots play"`
	Dir     string `help:"folder for the log and the rows (default: a temporary folder)"`
}

type projectionsReport struct {
	Events           int             `json:"events"` // in the node's log
	ReadAllPerSecond float64         `json:"readAllPerSecond"`
	Models           []rebuildReport `json:"models"`
}

// rebuildReport holds the figures of one model.
type rebuildReport struct {
	Name             string  `json:"name"`
	RebuildPerSecond float64 `json:"rebuildPerSecond"` // rate over all events of the log, whether or not the model selects them
	OfReadAll        float64 `json:"ofReadAll"`
	FromMemory       float64 `json:"fromMemory"`    // the same rate, with the same log in memory
	Folded           int     `json:"folded"`        // number of events that the model selected from another, in-memory log
	FoldPerSecond    float64 `json:"foldPerSecond"` // rate for that log, including the time for rows and commits
}

func (c projectionsCmd) setup() setup { return setup{"projections", c.Dir, "matches"} }

func (c projectionsCmd) measure(ctx context.Context, dir string, p *progress.Display) (report, error) {
	if c.Matches < 1 || c.Events < 0 || c.Folded < 1 || c.Bots < 4 {
		return nil, errors.New("--matches and --folded must be above zero, --events must not be below zero, and --bots must be at least 4")
	}
	r := &projectionsReport{}
	var fromNode, fromMemory, selected []rebuilt
	rows := filepath.Join(dir, "rows")
	err := inOrder(
		func() error {
			return withNode(ctx, filepath.Join(dir, "node"), func(n *logs.Embedded) (err error) {
				if fromNode, err = c.rebuild(ctx, n.Log, rows, c.Matches, c.Events, p); err != nil {
					return err
				}
				begun := time.Now()
				r.Events, err = count(n.Log.ReadAll(ctx, 0, eventstore.ReadOptions{}), nil)
				r.ReadAllPerSecond = perSecond(r.Events, time.Since(begun))
				return err
			})
		},
		into(&fromMemory, func() ([]rebuilt, error) { return c.rebuild(ctx, memory.New(), rows, c.Matches, c.Events, p) }),
		into(&selected, func() ([]rebuilt, error) { return c.rebuild(ctx, memory.New(), rows, c.Folded, 0, p) }),
	)
	for i := range selected {
		rate := perSecond(r.Events, fromNode[i].took)
		r.Models = append(r.Models, rebuildReport{
			Name: fromNode[i].name, RebuildPerSecond: rate, OfReadAll: rate / r.ReadAllPerSecond, FromMemory: perSecond(r.Events, fromMemory[i].took),
			Folded: selected[i].folded, FoldPerSecond: perSecond(selected[i].folded, selected[i].took),
		})
	}
	return r, err
}

// The type rebuilt describes a model that was rebuilt.
type rebuilt struct {
	name   string
	took   time.Duration
	folded int // number of events that it selected
}

// rebuild writes matches to a log, and rebuilds all models from it.
func (c projectionsCmd) rebuild(ctx context.Context, log eventstore.Log, rows string, matches, between int, p *progress.Display) (all []rebuilt, err error) {
	h, err := newHistory(ctx, log, c.Bots, between)
	if err != nil {
		return nil, err
	}
	if err := h.grow(ctx, matches, p); err != nil {
		return nil, err
	}
	for _, m := range readmodels.New(log).All() {
		if err := projections.Remove(rows, m.Name()); err != nil {
			return nil, err
		}
		begun := time.Now()
		runner, err := projections.Open(rows, log, m, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, err
		}
		if err := errors.Join(runner.Sync(ctx), runner.Close()); err != nil {
			return nil, err
		}
		all = append(all, rebuilt{m.Name(), time.Since(begun), int(runner.Folded())})
	}
	return all, nil
}

func (r *projectionsReport) print(w io.Writer) {
	fmt.Fprintf(w, "a log of %d events, $all read at %.0f events/s\n", r.Events, r.ReadAllPerSecond)
	for _, m := range r.Models {
		fmt.Fprintf(w, "%-12s rebuilt at %8.0f events/s of the log, %5.2f times $all;  from memory %8.0f;  with all events selected, %6d events, %7.0f\n",
			m.Name, m.RebuildPerSecond, m.OfReadAll, m.FromMemory, m.Folded, m.FoldPerSecond)
	}
}
