// Package projections runs the read models. Each model folds the events of some
// streams into rows of its own SQLite file, and answers queries from these
// rows. The models are in subpackages. This package does not depend on them.
//
// Call Lock first, because only one process may use a folder of files. Open
// returns a Runner for a model, and Run keeps the model up to date.
package projections

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"golang.org/x/sync/semaphore"

	"hexarena/eventstore"
)

// Schema describes a model's tables.
type Schema struct {
	// Version must change whenever Tables or the fold changes. If the rows have
	// another version, the runner deletes them and folds from scratch.
	Version int
	Tables  string // SQL that creates the tables and indexes
}

// Model is a read model. The Runner calls its methods one at a time. The model
// itself must guard the state that it shares with its readers.
type Model interface {
	Name() string // the name of the model's file; it must never change
	Schema() Schema
	Filter() eventstore.Filter

	// Load rebuilds the model's memory from committed rows. The model may keep
	// the *sql.DB to answer queries later. The Runner calls Load before the
	// first Apply, and again whenever rows were deleted or rolled back.
	Load(rows *sql.DB) error

	// Apply folds one selected event. Its writes commit together with the
	// checkpoint, often in one transaction with other events. If Apply returns an
	// error, it must not have changed anything. If the error is
	// eventstore.ErrUnavailable, the Runner retries the event. Any other error
	// stops the model.
	Apply(tx *Tx, r eventstore.Recorded) error

	// Flush writes the rows that Apply has postponed. The Runner calls it before
	// each commit.
	Flush(tx *Tx) error
}

// Runner keeps a model up to date with a log. It enforces the rules for folds
// (docs/architecture.md, "Reads"):
//
//   - Idempotent: the Runner skips events up to the position that it has
//     applied, so applying an event twice changes nothing.
//   - Atomic: rows and checkpoint commit in one transaction, so after a crash the
//     rows and the checkpoint still belong to the same event.
//   - Repeatable: rows depend only on events, so a rebuild produces the same
//     bytes.
type Runner struct {
	log    eventstore.Log
	model  Model
	dir    string
	logger *slog.Logger
	meter  meter

	folding    *semaphore.Weighted // held by one caller at a time; guards the fields below and calls to the model. Not a mutex: a holder may wait for the log, and a synctest bubble cannot wait for a mutex
	file       *file
	logChecked bool                // whether the Runner has checked that the file belongs to this log
	resets     int                 // how often the Runner has returned to its last commit, because the log lost events or may have; older subscriptions are out of date
	applied    eventstore.Position // all selected events up to this position are folded
	batch      batch

	mu        sync.Mutex          // guards the fields below; lock it after folding, if both are needed
	committed eventstore.Position // queries include all selected events up to this position
	changed   chan struct{}       // closed and replaced when one of the other fields changes
	failed    error               // why the model has stopped
	refolding bool                // whether the model folds the log from scratch, because the log lost events
	refolds   int                 // how often refolding became true
	upToDate  bool                // whether Run has caught up
	doubts    int                 // how often Doubt was called
	checked   int                 // the value of doubts when the rows were last checked
	doubt     chan struct{}       // closed and replaced by Doubt
}

// Open returns a runner of a model whose file is in dir. If the file cannot be
// used, Open replaces it with an empty file.
func Open(dir string, log eventstore.Log, model Model, logger *slog.Logger) (*Runner, error) {
	r := &Runner{log: log, model: model, dir: dir, logger: logger.With("projection", model.Name()), changed: make(chan struct{}), doubt: make(chan struct{}), folding: semaphore.NewWeighted(1)}
	r.meter.markBehind()
	if err := r.openFile(); err != nil {
		return nil, fmt.Errorf("projection %s: %w", model.Name(), err)
	}
	return r, nil
}

// Close closes the file. Call it after Run and Sync have returned.
func (r *Runner) Close() error {
	defer r.lock()()
	return r.file.close()
}

// Run applies stored events and then new events, until ctx ends. If the model
// cannot fold an event, it stops: Run and Err return the reason, and the rows
// stay as they were before the event. If the log has lost events that the rows include,
// Run folds the log from scratch.
func (r *Runner) Run(ctx context.Context) error {
	err := r.followOn(ctx, func() bool { r.freeCache(); r.setUpToDate(); return false })
	if r.Err() == nil && ctx.Err() != nil {
		return nil //nolint:nilerr // the caller ended ctx
	}
	r.logger.Error("projection stopped", "error", err)
	return err
}

// Sync returns once it has committed all events that the log contained at the time
// of the call. It has its own subscription, so it does not need Run.
func (r *Runner) Sync(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := false
	if err := r.followOn(ctx, func() bool { done = true; return true }); err != nil {
		return err
	}
	if !done {
		return fmt.Errorf("projection %s: %w", r.model.Name(), context.Cause(ctx))
	}
	return nil
}

// UpToDate returns once Run has committed all events that the log contained when Run
// began. Unlike Sync, it does not read the log. If Run ends with an error that does not
// stop the model, UpToDate waits until ctx ends.
func (r *Runner) UpToDate(ctx context.Context) error {
	return r.await(ctx, "catching up", func() bool { return r.upToDate })
}

// Wait returns once queries include the selected event at a position. After Doubt, it
// also waits until the Runner has checked the rows, because the log may give the positions
// of lost events to new events.
func (r *Runner) Wait(ctx context.Context, p eventstore.Position) error {
	return r.await(ctx, fmt.Sprintf("at %d", p), func() bool { return r.committed >= p && r.doubts == r.checked })
}

// await returns once a condition is true, or with an error once the model has stopped or
// ctx has ended. It calls the function reached while it holds mu.
func (r *Runner) await(ctx context.Context, what string, reached func() bool) error {
	for {
		r.mu.Lock()
		done, failed, changed := reached(), r.failed, r.changed
		r.mu.Unlock()
		if done || failed != nil {
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("projection %s %s: %w", r.model.Name(), what, ctx.Err())
		}
	}
}

// Changed returns a channel that is closed when the state of the Runner changes, for
// example when queries include more events, or when the model has stopped.
func (r *Runner) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Err returns nil while the model runs. If the model has stopped, Err returns
// the reason, which matches ErrStopped.
func (r *Runner) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Doubt tells the Runner that the log may have lost events that the rows include. Until
// the Runner has checked this, Serving returns ErrBehind. Doubt does not wait for the
// check.
func (r *Runner) Doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubts++
	r.wake()
	close(r.doubt)
	r.doubt = make(chan struct{})
}

// The method doubting() returns a channel that the next call of Doubt closes.
func (r *Runner) doubting() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubt
}

// The method doubted() reports whether the rows have not been checked since the last call
// of Doubt. It also returns the number of calls.
func (r *Runner) doubted() (bool, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubts != r.checked, r.doubts
}

// Serving returns nil while queries return complete results. It returns the error of
// Err, or ErrBehind while the rows may include events that the log has lost, and while
// the model folds the log from scratch because of that.
func (r *Runner) Serving() error {
	_, err := r.serving()
	return err
}

// The method serving() returns the result of Serving, and a number that grows whenever the
// results become incomplete.
func (r *Runner) serving() (gaps int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.failed
	if err == nil && (r.refolding || r.doubts != r.checked) {
		err = ErrBehind
	}
	return r.doubts + r.refolds, err
}

// Reading returns a function that tells whether a query returned complete results. Call
// Reading before the query, and the function after it. Like Serving, the function returns
// nil or an error. A call of Serving after the query is not enough, because a rebuild may
// end during the query.
func (r *Runner) Reading() (whole func() error) {
	gaps, before := r.serving()
	return func() error {
		now, after := r.serving()
		if after == nil && now != gaps {
			after = ErrBehind
		}
		return cmp.Or(before, after)
	}
}

// Position returns the position up to which queries include all selected events.
func (r *Runner) Position() eventstore.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.committed
}

// Folded returns how many events this runner has folded and committed.
func (r *Runner) Folded() uint64 { return r.meter.events.Load() }

// Name returns the model's name.
func (r *Runner) Name() string { return r.model.Name() }

// Dump writes the committed rows in the format of the function Dump.
func (r *Runner) Dump(w io.Writer) error {
	defer r.lock()()
	return Dump(w, r.file.rows)
}

// The method lock() waits until no other caller holds folding. The caller must call
// unlock when it is done.
func (r *Runner) lock() (unlock func()) {
	_ = r.folding.Acquire(context.Background(), 1) // fails only if the context ends
	return func() { r.folding.Release(1) }
}

// ErrStopped means that a model has stopped, so its results are out of date.
var ErrStopped = errors.New("a read model has stopped")

// ErrBehind means that a model has not yet folded all events that the log
// contained when the process started, or when the log lost events.
var ErrBehind = errors.New("a read model has not yet folded all events: try again later")

// stoppedError is the reason why a model has stopped.
type stoppedError struct{ error }

func (s *stoppedError) Is(target error) bool { return target == ErrStopped }
func (s *stoppedError) Unwrap() error        { return s.error }

// fail stops the model. If the model has already stopped, fail keeps the first
// reason.
func (r *Runner) fail(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = &stoppedError{err}
		r.wake()
	}
	return r.failed
}

// setCommitted stores the committed position. If it has changed, setCommitted wakes the
// callers of Wait.
func (r *Runner) setCommitted(p eventstore.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p != r.committed {
		r.committed = p
		r.wake()
	}
}

// setUpToDate records that Run has caught up. The first call wakes the callers of
// UpToDate.
func (r *Runner) setUpToDate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.upToDate {
		r.upToDate = true
		r.wake()
	}
}

// wake wakes the callers of Wait and UpToDate, and closes the channel of Changed. The
// caller must hold mu.
func (r *Runner) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}
