// Package projections runs the read models. Each model folds the events of some
// streams into rows of its own SQLite file, and answers queries from these
// rows. The models are in the packages below this one, which does not depend on
// them.
//
// Open returns a Runner for a model, and Run keeps the model up to date. Only one
// process may use a folder of files: call Lock first.
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

// Schema describes a model's tables.
type Schema struct {
	// Version must change whenever Tables or the fold changes. The runner deletes
	// rows of another version and folds from scratch.
	Version int
	Tables  string // SQL that creates the tables and indexes
}

// Model is a read model. The Runner calls its methods from one goroutine at a
// time. The model itself guards the state that its readers share.
type Model interface {
	Name() string // the name of its file; must never change
	Schema() Schema
	Filter() eventstore.Filter

	// Load rebuilds the model's memory from committed rows. The model keeps rows
	// for its readers. The Runner calls Load before the first Apply, and again
	// whenever rows were deleted or rolled back.
	Load(rows *sql.DB) error

	// Apply folds one selected event. Its writes commit together with the
	// checkpoint, often in one transaction with other events. If Apply returns an
	// error, it must not have changed anything. The model then stops, except for
	// eventstore.ErrUnavailable: the Runner retries that event.
	Apply(tx *Tx, r eventstore.Recorded) error

	// Flush writes the rows that Apply has postponed. The Runner calls it before
	// each commit.
	Flush(tx *Tx) error
}

// Runner keeps a model up to date with a log. It enforces the rules for folds
// (docs/architecture.md, "Reads"):
//
//   - Idempotent: it skips events up to the position that it has applied, so
//     applying an event twice changes nothing.
//   - Atomic: rows and checkpoint commit in one transaction, so a crash leaves
//     the state after some event.
//   - Repeatable: rows depend only on events, so a rebuild gives the same bytes.
type Runner struct {
	log    eventstore.Log
	model  Model
	dir    string
	logger *slog.Logger
	meter  meter

	folding    sync.Mutex // guards the fields below and the calls of the model
	file       *file
	logChecked bool                // the file is known to belong to this log
	applied    eventstore.Position // all selected events up to here are folded
	batch      batch

	mu        sync.Mutex          // guards the fields below; taken after folding
	committed eventstore.Position // all selected events up to here can be read
	changed   chan struct{}       // closed and replaced when committed or failed changes
	failed    error               // why the model has stopped
}

// Open returns a runner of a model whose file is in dir. It replaces a file that
// cannot be used with an empty one.
func Open(dir string, log eventstore.Log, model Model, logger *slog.Logger) (*Runner, error) {
	r := &Runner{log: log, model: model, dir: dir, logger: logger.With("projection", model.Name()), changed: make(chan struct{})}
	r.meter.markBehind()
	if err := r.openFile(); err != nil {
		return nil, fmt.Errorf("projection %s: %w", model.Name(), err)
	}
	return r, nil
}

// Close closes the file. Call it after Run and Sync have returned.
func (r *Runner) Close() error {
	r.folding.Lock()
	defer r.folding.Unlock()
	return r.file.close()
}

// Run applies stored events and then new ones, until ctx ends or the model cannot
// fold an event. In that case the model stops: Err returns the reason, and the
// rows stay as they were before the event.
func (r *Runner) Run(ctx context.Context) error {
	err := r.follow(ctx, func() bool { return false })
	if r.Err() == nil && ctx.Err() != nil {
		return nil //nolint:nilerr // the caller ended it
	}
	r.logger.Error("projection stopped", "error", err)
	return err
}

// Sync returns once all events that the log held at the time of the call are
// committed. It has its own subscription, so it works without Run and does not
// wait for it.
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

// Wait returns once the selected event at a position can be read.
func (r *Runner) Wait(ctx context.Context, p eventstore.Position) error {
	for {
		r.mu.Lock()
		reached, failed, changed := r.committed >= p, r.failed, r.changed
		r.mu.Unlock()
		if reached || failed != nil {
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("projection %s at %d: %w", r.model.Name(), p, ctx.Err())
		}
	}
}

// Err returns the reason why the model has stopped, which matches ErrStopped, or
// nil while it runs.
func (r *Runner) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Position returns the position up to which all selected events can be read.
func (r *Runner) Position() eventstore.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.committed
}

// Folded returns how many events this runner has folded and committed.
func (r *Runner) Folded() uint64 { return r.meter.events.Load() }

// Name returns the model's name.
func (r *Runner) Name() string { return r.model.Name() }

// Dump writes the committed rows; see the function Dump.
func (r *Runner) Dump(w io.Writer) error {
	r.folding.Lock()
	defer r.folding.Unlock()
	return Dump(w, r.file.rows)
}

// ErrStopped means that a model has stopped, so its answers are out of date.
var ErrStopped = errors.New("a read model has stopped")

// ErrBehind means that a model has not yet folded the events that the log held at
// the start of the process.
var ErrBehind = errors.New("a read model has not yet folded all events: try again later")

// stoppedError is the reason why a model has stopped.
type stoppedError struct{ error }

func (s *stoppedError) Is(target error) bool { return target == ErrStopped }
func (s *stoppedError) Unwrap() error        { return s.error }

// fail stops the model. Only the first reason counts.
func (r *Runner) fail(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = &stoppedError{err}
		r.wake()
	}
	return r.failed
}

// setCommitted wakes the callers of Wait if the position has changed.
func (r *Runner) setCommitted(p eventstore.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p != r.committed {
		r.committed = p
		r.wake()
	}
}

// wake must be called with mu held.
func (r *Runner) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}
