// Package projections runs the read models: each folds the events of some
// streams, in the order of the log, into rows of a SQLite file of its own, and
// answers from those. The packages below it are the models; this one knows none
// of them.
//
// Rows and the position up to which they are folded, the checkpoint, change in
// one transaction. A model's file may be deleted at any time but while it is
// open: it is folded anew from the log. So is one whose schema has changed, that
// is damaged, or that was folded from another log.
package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"hexarena/eventstore"
)

// Schema is what a model's rows are kept in.
type Schema struct {
	// Version is changed with Tables, and with what Apply makes of an event:
	// rows of another version are thrown away.
	Version int
	Tables  string // SQL that makes the tables and indexes
}

// Model is a read model. A Runner calls it from one goroutine at a time; the
// model guards what its own readers read.
type Model interface {
	Name() string // a file's name; it never changes
	Schema() Schema
	Filter() eventstore.Filter

	// Load makes anew what the model keeps in memory. Rows reads what is
	// committed; the model keeps it to answer from. Load is called before the
	// first Apply, and again where rows were thrown away.
	Load(rows *sql.DB) error

	// Apply folds a selected event: once each, in order. What it writes is
	// committed together with the checkpoint, often with that of other events.
	// An event that it cannot fold is refused before anything is changed; the
	// model then stops for good. One that is refused with
	// eventstore.ErrUnavailable, where folding it takes more of the log than
	// itself, is tried again.
	Apply(tx *Tx, r eventstore.Recorded) error

	// Flush writes what Apply has put off. It is called before each commit.
	Flush(tx *Tx) error
}

// Runner keeps a model up to date with a log.
type Runner struct {
	log    eventstore.Log
	model  Model
	dir    string
	logger *slog.Logger
	meter  meter

	folding sync.Mutex // guards the fold: what follows, and the model's
	file    *file
	checked bool                // the file is known to be of this log
	applied eventstore.Position // everything selected up to here is folded
	batch   batch

	mu       sync.Mutex          // taken last
	position eventstore.Position // everything selected up to here is committed
	moved    chan struct{}       // closed, and replaced, when position or failed changes
	failed   error               // why the model has stopped
}

// Open returns a runner of a model whose file is in a folder; Run starts it. A
// file that cannot be used is begun afresh. Only one process may use a folder:
// see Lock.
func Open(dir string, log eventstore.Log, model Model, logger *slog.Logger) (*Runner, error) {
	r := &Runner{log: log, model: model, dir: dir, logger: logger.With("projection", model.Name()), moved: make(chan struct{})}
	r.meter.fell()
	if err := r.openFile(); err != nil {
		return nil, fmt.Errorf("projection %s: %w", model.Name(), err)
	}
	return r, nil
}

// Close closes the file, once nothing runs any more.
func (r *Runner) Close() error {
	r.folding.Lock()
	defer r.folding.Unlock()
	return r.file.close()
}

// Run applies what is stored and then what comes, until ctx ends or the model
// meets an event that it cannot fold: then it stops for good, Err says why, and
// the rows stay those of before.
func (r *Runner) Run(ctx context.Context) error {
	err := r.follow(ctx, func() bool { return false })
	if r.Err() == nil && ctx.Err() != nil {
		return nil //nolint:nilerr // the caller ended it
	}
	r.logger.Error("projection stopped", "error", err)
	return err
}

// Sync returns once everything is committed that the log held when it was
// called. It reads by itself, so that it waits for no one.
func (r *Runner) Sync(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := false
	if err := r.follow(ctx, func() bool { done = true; return true }); err != nil {
		return err
	}
	if !done {
		return fmt.Errorf("projection %s: %w", r.model.Name(), context.Cause(ctx))
	}
	return nil
}

// Wait returns once the selected event at a position is committed, so that it
// can be read.
func (r *Runner) Wait(ctx context.Context, p eventstore.Position) error {
	for {
		r.mu.Lock()
		reached, failed, moved := r.position >= p, r.failed, r.moved
		r.mu.Unlock()
		if reached || failed != nil {
			return failed
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("projection %s at %d: %w", r.model.Name(), p, ctx.Err())
		}
	}
}

// Err says why the model has stopped, which is ErrStopped; nil while it runs.
func (r *Runner) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Position is up to where everything selected is committed.
func (r *Runner) Position() eventstore.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position
}

// Folded is how many events this runner has folded and committed.
func (r *Runner) Folded() uint64 {
	events, _, _ := r.meter.read()
	return events
}

// Name is the model's.
func (r *Runner) Name() string { return r.model.Name() }

// Dump writes the rows that are committed; see Dump.
func (r *Runner) Dump(w io.Writer) error {
	r.folding.Lock()
	defer r.folding.Unlock()
	return Dump(w, r.file.rows)
}

// ErrStopped says that a model has stopped: what it answers is out of date.
var ErrStopped = errors.New("a read model has stopped")

// ErrBehind says that a model has not folded yet what the log held at the
// start.
var ErrBehind = errors.New("a read model is still being folded: try again later")

// stopped is why a model has.
type stopped struct{ error }

func (s *stopped) Is(target error) bool { return target == ErrStopped }
func (s *stopped) Unwrap() error        { return s.error }

// fail stops the model, for the first reason that is given.
func (r *Runner) fail(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = &stopped{err}
		r.wake()
	}
	return r.failed
}

// publish lets readers know how far the rows are.
func (r *Runner) publish(p eventstore.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p != r.position {
		r.position = p
		r.wake()
	}
}

// wake is called with mu held.
func (r *Runner) wake() {
	close(r.moved)
	r.moved = make(chan struct{})
}
