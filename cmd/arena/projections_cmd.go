package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hexarena/cmd/arena/progress"
	"hexarena/eventstore"
	"hexarena/eventstore/esdb"
	"hexarena/projections"
	"hexarena/projections/readmodels"
)

// projectionsCmds is `arena projections`, for the folder of a service that is
// stopped.
type projectionsCmds struct {
	Status  projectionsStatus  `cmd:"" help:"Say how far the read models of a stopped service are."`
	Rebuild projectionsRebuild `cmd:"" help:"Fold read models of a stopped service anew."`
}

// stoppedArena is where a stopped service keeps its read models and its log.
type stoppedArena struct {
	Data       string `default:"./data" help:"Folder of all that is kept."`
	EventStore string `name:"eventstore" env:"ARENA_EVENTSTORE" help:"esdb:// connection string of the log (default: the embedded node's, in the folder)."`
}

type projectionsStatus struct {
	stoppedArena
}

type projectionsRebuild struct {
	stoppedArena
	Name []string `arg:"" optional:"" help:"Read models to fold anew (default: all)."`
}

// Run runs `arena projections status`.
func (c projectionsStatus) Run(ctx context.Context, s streams) error {
	return c.with(ctx, func(dir string, log eventstore.Log) error {
		head, err := headOf(ctx, log)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "the log ends at %d\n", head)
		for _, m := range readmodels.All(log) {
			state, err := projections.Inspect(ctx, dir, log, m)
			if err != nil {
				return fmt.Errorf("%s: %w", m.Name(), err)
			}
			fmt.Fprintf(s.out, "%-12s %s\n", m.Name(), stands(state, head))
		}
		return nil
	})
}

// stands is how far a read model is.
func stands(s projections.State, head eventstore.Position) string {
	rows := fmt.Sprintf("up to %d, %.1f MB", s.Position, float64(s.Bytes)/(1<<20))
	switch {
	case s.Anew != "":
		return "is folded anew at the next start: " + s.Anew
	case s.Position >= head:
		return "is up to date: " + rows
	default:
		return "goes on at the next start: " + rows
	}
}

// Run runs `arena projections rebuild`.
func (c projectionsRebuild) Run(ctx context.Context, s streams) error {
	if _, err := c.models(nil); err != nil {
		return err
	}
	return c.with(ctx, func(dir string, log eventstore.Log) error {
		models, err := c.models(log)
		if err != nil {
			return err
		}
		for _, m := range models {
			if err := rebuild(ctx, dir, log, m, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// models are those that were named.
func (c projectionsRebuild) models(log eventstore.Log) ([]projections.Model, error) {
	all := readmodels.All(log)
	if len(c.Name) == 0 {
		return all, nil
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name())
	}
	for _, name := range c.Name {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("no read model is called %q: there are %s", name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(all, func(m projections.Model) bool { return !slices.Contains(c.Name, m.Name()) }), nil
}

// lookAtRebuild is how often the progress of a rebuild is shown.
const lookAtRebuild = 200 * time.Millisecond

// rebuild folds a read model anew. One that is interrupted is gone on with by
// the next start.
func rebuild(ctx context.Context, dir string, log eventstore.Log, m projections.Model, s streams) error {
	head, err := headOf(ctx, log)
	if err != nil {
		return err
	}
	if err := projections.Remove(dir, m.Name()); err != nil {
		return err
	}
	r, err := projections.Open(dir, log, m, newLogger(s.err))
	if err != nil {
		return err
	}
	begun, done := time.Now(), make(chan error, 1)
	go func() { done <- r.Sync(ctx) }()
	p := progress.New(s.err, "positions")
	defer p.Finish()
	tick := time.NewTicker(lookAtRebuild)
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
			took := time.Since(begun)
			fmt.Fprintf(s.out, "%s: %d events folded in %.1f s, up to %d\n", m.Name(), r.Folded(), took.Seconds(), r.Position())
			return nil
		}
	}
}

// headOf is the position of a log's last event.
func headOf(ctx context.Context, log eventstore.Log) (head eventstore.Position, err error) {
	for r, err := range log.ReadAll(ctx, eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return 0, err
		}
		head = r.Position
	}
	return head, ctx.Err()
}

// with opens the log of a stopped service while nobody has its read models
// open.
func (c stoppedArena) with(ctx context.Context, f func(dir string, log eventstore.Log) error) (err error) {
	dir := (&config{pace: pace{Data: c.Data}}).projections()
	release, err := projections.Lock(dir)
	if errors.Is(err, projections.ErrInUse) {
		return fmt.Errorf("--data: %w: stop it first; a service that runs tells of them by /metrics and /ready", err)
	}
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	defer func() { err = errors.Join(err, release()) }()
	log, closeLog, err := c.openLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	return f(dir, log)
}

// openLog connects to the log, which is that of an embedded node where no other
// is named.
func (c stoppedArena) openLog(ctx context.Context) (*esdb.Log, func() error, error) {
	if c.EventStore != "" {
		log, err := openAnswering(ctx, "--eventstore", c.EventStore, newLogger(io.Discard))
		if err != nil {
			return nil, nil, err
		}
		return log, log.Close, nil
	}
	dir := filepath.Join(c.Data, "node")
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("--data holds no log: %w; is it --eventstore's?", err)
	}
	return openEmbedded(ctx, dir)
}
