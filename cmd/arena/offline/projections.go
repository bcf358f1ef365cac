// Package offline contains the commands that work on the data of a stopped
// service: `arena projections` and `arena export`.
package offline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"hexarena/cmd/arena/logs"
	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/readmodels"
)

// ProjectionsCmds are the commands of `arena projections`.
type ProjectionsCmds struct {
	Status  statusCmd  `cmd:"" help:"Show the state of a stopped service's read models."`
	Rebuild rebuildCmd `cmd:"" help:"Rebuild read models of a stopped service from the log."`
}

// ProjectionsDir returns the folder of the read models in a data folder.
func ProjectionsDir(data string) string { return filepath.Join(data, "projections") }

type statusCmd struct{ logs.Stopped }

type rebuildCmd struct {
	logs.Stopped
	Name []string `arg:"" optional:"" help:"Read models to rebuild (default: all)."`
}

// Run runs `arena projections status`.
func (c statusCmd) Run(ctx context.Context, k *kong.Kong) error {
	return withModels(ctx, c.Stopped, func(dir string, log eventstore.Log) error {
		head, err := eventstore.Head(ctx, log)
		if err != nil {
			return err
		}
		fmt.Fprintf(k.Stdout, "the log ends at %d\n", head)
		for _, m := range readmodels.New(log).All() {
			state, err := projections.Inspect(ctx, dir, log, m)
			if err != nil {
				return fmt.Errorf("%s: %w", m.Name(), err)
			}
			fmt.Fprintf(k.Stdout, "%-12s %s\n", m.Name(), describe(state, head))
		}
		return nil
	})
}

// describe returns a description of a read model's state.
func describe(s projections.State, head eventstore.Position) string {
	rows := fmt.Sprintf("up to %d, %.1f MB", s.Position, float64(s.Bytes)/(1<<20))
	switch {
	case s.Rebuild != "":
		return "will be rebuilt when the service starts: " + s.Rebuild
	case s.Position >= head:
		return "is up to date: " + rows
	default:
		return "will continue when the service starts: " + rows
	}
}

// Run runs `arena projections rebuild`.
func (c rebuildCmd) Run(ctx context.Context, k *kong.Kong) error {
	if _, err := c.models(nil); err != nil { // report an unknown name before opening anything
		return err
	}
	return withModels(ctx, c.Stopped, func(dir string, log eventstore.Log) error {
		models, err := c.models(log)
		if err != nil {
			return err
		}
		for _, m := range models {
			if err := rebuild(ctx, dir, log, m, k); err != nil {
				return err
			}
		}
		return nil
	})
}

// models returns the read models that the arguments name.
func (c rebuildCmd) models(log eventstore.Log) ([]projections.Model, error) {
	all := readmodels.New(log).All()
	if len(c.Name) == 0 {
		return all, nil
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name())
	}
	for _, name := range c.Name {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no read model %q: the read models are %s", name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(all, func(m projections.Model) bool { return !slices.Contains(c.Name, m.Name()) }), nil
}

// progressInterval is how often the progress of a rebuild is shown.
const progressInterval = 200 * time.Millisecond

// rebuild folds a read model from the start of the log. If it is interrupted, the
// service completes the rebuild when it starts.
func rebuild(ctx context.Context, dir string, log eventstore.Log, m projections.Model, k *kong.Kong) error {
	head, err := eventstore.Head(ctx, log)
	if err != nil {
		return err
	}
	if err := projections.Remove(dir, m.Name()); err != nil {
		return err
	}
	r, err := projections.Open(dir, log, m, slog.New(slog.NewTextHandler(k.Stderr, nil)))
	if err != nil {
		return err
	}
	begun, done := time.Now(), make(chan error, 1)
	go func() { done <- r.Sync(ctx) }()
	p := progress.New(k.Stderr, "positions")
	defer p.Finish()
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.Show(m.Name(), uint64(min(r.Position(), head)), uint64(head))
		case err := <-done:
			if err = errors.Join(err, r.Close()); err != nil {
				return err
			}
			p.Finish()
			fmt.Fprintf(k.Stdout, "%s: %d events folded in %.1f s, up to %d\n", m.Name(), r.Folded(), time.Since(begun).Seconds(), r.Position())
			return nil
		}
	}
}

// withModels locks the read models of a stopped service, opens its log, and calls
// f with both.
func withModels(ctx context.Context, stopped logs.Stopped, f func(dir string, log eventstore.Log) error) (err error) {
	dir := ProjectionsDir(stopped.Data)
	release, err := projections.Lock(dir)
	if errors.Is(err, projections.ErrInUse) {
		return fmt.Errorf("--data: %w: stop that process first; to see the read models of a running service, read /metrics and /ready", err)
	}
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	defer func() { err = errors.Join(err, release()) }()
	log, closeLog, err := stopped.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	return f(dir, log)
}
