// Package projections runs the read models: each folds the events of some
// streams, in the order of the log, and answers from what it folded. The
// packages below it are the models; this one knows none of them.
package projections

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"hexarena/eventstore"
)

// Model is a read model. Apply is called for each selected event once, in
// order, never twice at a time; it guards what its own readers read.
type Model interface {
	Name() string
	Filter() eventstore.Filter
	Apply(r eventstore.Recorded) error
}

// Runner keeps a model up to date with a log.
type Runner struct {
	log    eventstore.Log
	model  Model
	logger *slog.Logger

	mu       sync.Mutex
	position eventstore.Position // everything selected up to here is applied
	moved    chan struct{}       // closed, and replaced, when position or failed changes
	failed   error               // the event that the model could not fold
}

// New returns a runner; Run starts it.
func New(log eventstore.Log, model Model, logger *slog.Logger) *Runner {
	return &Runner{log: log, model: model, logger: logger.With("projection", model.Name()), moved: make(chan struct{})}
}

// Run applies what is stored and then what comes, until ctx ends or the model
// meets an event that it cannot fold: then it stops for good, Err says why, and
// the model's answers stay those of before.
func (r *Runner) Run(ctx context.Context) error {
	err := r.follow(ctx, func() bool { return false })
	if r.Err() == nil && ctx.Err() != nil {
		return nil //nolint:nilerr // the caller ended it
	}
	r.logger.Error("projection stopped", "error", err)
	return err
}

// Sync returns once everything is applied that the log held when it was
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

// Wait returns once the selected event at a position is applied.
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

// Err says why the model stopped, nil while it runs.
func (r *Runner) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// follow applies messages until ctx ends or atEnd, called at each change to
// live, says that it is enough.
func (r *Runner) follow(ctx context.Context, atEnd func() bool) error {
	r.mu.Lock()
	from := r.position
	r.mu.Unlock()
	for m, err := range r.log.Subscribe(ctx, from, r.model.Filter()) {
		if err != nil {
			return err
		}
		if m.CaughtUp && atEnd() {
			return nil
		}
		if err := r.apply(m); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// apply folds a message unless a second follower has done so before.
func (r *Runner) apply(m eventstore.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	position := m.Checkpoint
	if m.Event != nil {
		position = m.Event.Position
	}
	if position <= r.position {
		return nil
	}
	if m.Event != nil {
		if err := r.model.Apply(*m.Event); err != nil {
			r.failed = fmt.Errorf("projection %s at %s@%d: %w", r.model.Name(), m.Event.Stream, m.Event.Revision, err)
		}
	}
	if r.failed == nil {
		r.position = position
	}
	close(r.moved)
	r.moved = make(chan struct{})
	return r.failed
}
