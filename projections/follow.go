package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hexarena/eventstore"
)

// While a model catches up, a batch is committed when it has so many events or
// is so old: rows of many bots lie on as many pages, each of which is written
// once a batch. One that is live commits as soon as nothing more has come.
const (
	batchEvents = 100_000
	batchTime   = 5 * time.Second
)

// restEvery is how often a checkpoint is stored that no selected event brought.
const restEvery = 10 * time.Second

// restTime is how long the log may take to answer then.
const restTime = 2 * time.Second

// againTime is between two tries of an event for which the log was away.
const againTime = time.Second

// queued is how many messages wait for a model at most.
const queued = 1024

// batch is what was folded since the last commit; Runner.folding guards it.
type batch struct {
	tx     *Tx // nil: nothing
	events int
	began  time.Time
	anchor anchor // the last event of it
}

// arrival is what a subscription yields.
type arrival struct {
	message eventstore.Message
	err     error
}

// follow applies messages until ctx ends or atEnd, called at each change to
// live, says that it is enough. What it has folded is committed then.
func (r *Runner) follow(ctx context.Context, atEnd func() bool) error {
	from, err := r.begin(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	messages := r.subscribe(ctx, from)
	defer func() {
		cancel()
		for range messages { //revive:disable-line:empty-block // it ends by itself
		}
	}()
	rest := time.NewTicker(restEvery)
	defer rest.Stop()
	late := time.NewTicker(batchTime)
	defer late.Stop()
	live := false
	for {
		select {
		case a, open := <-messages:
			switch {
			case !open:
				return errors.Join(r.commit(), ctx.Err())
			case a.err != nil:
				return errors.Join(a.err, r.commit())
			}
			live = live || a.message.CaughtUp
			err := r.take(a.message, live && len(messages) == 0 || a.message.CaughtUp)
			for ctx.Err() == nil && errors.Is(err, eventstore.ErrUnavailable) {
				err = r.takeAgain(ctx, a.message, err)
			}
			if err != nil {
				return err
			}
			if a.message.CaughtUp && atEnd() {
				return nil
			}
		case <-late.C:
			if err := r.commitLate(); err != nil {
				return err
			}
		case <-rest.C:
			if err := r.rest(ctx); err != nil {
				return err
			}
		}
	}
}

// subscribe reads ahead, so that what waits is folded as one batch. The channel
// is closed once the subscription has ended.
func (r *Runner) subscribe(ctx context.Context, from eventstore.Position) <-chan arrival {
	messages := make(chan arrival, queued)
	go func() {
		defer close(messages)
		for m, err := range r.log.Subscribe(ctx, from, r.model.Filter()) {
			select {
			case messages <- arrival{m, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return messages
}

// begin returns where to go on. At first it makes sure that the rows are of
// this log.
func (r *Runner) begin(ctx context.Context) (eventstore.Position, error) {
	r.folding.Lock()
	defer r.folding.Unlock()
	if err := r.Err(); err != nil {
		return 0, err
	}
	if !r.checked {
		why, err := r.contradicts(ctx)
		if err != nil {
			return 0, fmt.Errorf("projection %s: %w", r.model.Name(), err)
		}
		if why != "" {
			if err := r.beginAfresh(why); err != nil {
				return 0, r.fail(fmt.Errorf("projection %s: %w", r.model.Name(), err))
			}
		}
		r.checked = true
	}
	return r.applied, nil
}

// take folds a message, unless a second follower has done so before, and
// commits where that is due.
func (r *Runner) take(m eventstore.Message, due bool) error {
	r.folding.Lock()
	defer r.folding.Unlock()
	if err := r.Err(); err != nil {
		return err
	}
	if m.Event != nil && m.Event.Position > r.applied {
		if err := r.fold(*m.Event); err != nil {
			return err
		}
	}
	r.applied = max(r.applied, m.Checkpoint)
	if due || r.batch.tx == nil || r.batch.events >= batchEvents || time.Since(r.batch.began) >= batchTime {
		if err := r.commitBatch(); err != nil {
			return err
		}
	}
	if due {
		r.meter.caughtUp()
	}
	return nil
}

// takeAgain folds a message for which the log was away, a little later.
func (r *Runner) takeAgain(ctx context.Context, m eventstore.Message, why error) error {
	r.logger.Warn("a read model waits for the log", "error", why)
	select {
	case <-time.After(againTime):
		return r.take(m, m.CaughtUp)
	case <-ctx.Done():
		return why
	}
}

// fold has the model apply an event. One that it refuses ends it, with the
// events before it committed.
func (r *Runner) fold(e eventstore.Recorded) error {
	if r.batch.tx == nil {
		tx, err := r.file.begin()
		if err != nil {
			return r.stopAtFile(nil, err)
		}
		r.batch = batch{tx: tx, began: time.Now()}
	}
	r.meter.fell()
	err := r.model.Apply(r.batch.tx, e)
	switch {
	case r.batch.tx.err != nil:
		return r.stopAtFile(r.batch.tx, r.batch.tx.err)
	case err != nil:
		if err := r.commitBatch(); err != nil {
			return err
		}
		if errors.Is(err, eventstore.ErrUnavailable) {
			return err
		}
		return r.fail(fmt.Errorf("projection %s at %s@%d: %w", r.model.Name(), e.Stream, e.Revision, err))
	}
	r.applied = e.Position
	r.batch.events++
	r.batch.anchor = anchor{e.Position, e.ID}
	return nil
}

func (r *Runner) commit() error {
	r.folding.Lock()
	defer r.folding.Unlock()
	if err := r.Err(); err != nil {
		return err
	}
	return r.commitBatch()
}

func (r *Runner) commitLate() error {
	r.folding.Lock()
	defer r.folding.Unlock()
	if r.batch.tx == nil || time.Since(r.batch.began) < batchTime {
		return nil
	}
	return r.commitBatch()
}

// commitBatch makes what was folded durable and readable, if anything was.
func (r *Runner) commitBatch() error {
	b := r.batch
	r.batch = batch{}
	switch {
	case b.tx == nil:
	case b.events == 0:
		b.tx.rollback()
	default:
		err := r.model.Flush(b.tx)
		if err == nil {
			err = b.tx.commit(checkpoint{b.anchor.position, b.anchor})
		}
		if err != nil {
			return r.stopAtFile(b.tx, err)
		}
		r.meter.folded(b.events)
	}
	r.publish(r.applied)
	return nil
}

// stopAtFile stops a model whose file fails. What it has in memory is again
// that of its rows, as far as they can be read.
func (r *Runner) stopAtFile(tx *Tx, err error) error {
	r.batch = batch{}
	if tx != nil {
		tx.rollback()
	}
	if damaged(err) {
		r.file.doomed = true
		err = fmt.Errorf("%w: it is begun afresh at the next start", err)
	} else if load := r.model.Load(r.file.rows); load != nil {
		err = errors.Join(err, load)
	}
	return r.fail(fmt.Errorf("projection %s: %s: %w", r.model.Name(), r.file.path, err))
}

// rest stores a checkpoint that no selected event brought, together with an
// event there that tells this log from others. Without one it waits.
func (r *Runner) rest(ctx context.Context) error {
	r.folding.Lock()
	defer r.folding.Unlock()
	if r.batch.tx != nil || r.applied == r.file.checkpoint.position || r.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	at, found, err := r.anchorAt(ctx, r.applied)
	if err != nil || !found {
		return nil // the next one will do
	}
	tx, err := r.file.begin()
	if err == nil {
		err = tx.commit(checkpoint{r.applied, at})
	}
	if err != nil {
		return r.stopAtFile(tx, err)
	}
	return nil
}

// anchorAt is the first event at a position or behind it.
func (r *Runner) anchorAt(ctx context.Context, p eventstore.Position) (at anchor, found bool, err error) {
	for e, err := range r.log.ReadAll(ctx, p, eventstore.ReadOptions{Limit: 1}) {
		if err != nil {
			return anchor{}, false, err
		}
		at, found = anchor{e.Position, e.ID}, true
	}
	return at, found, ctx.Err()
}

// contradicts says why the rows cannot be of this log, empty where they may be.
func (r *Runner) contradicts(ctx context.Context) (why string, err error) {
	kept := r.file.checkpoint.anchor
	if kept.position == 0 {
		return "", nil
	}
	at, found, err := r.anchorAt(ctx, kept.position)
	switch {
	case ctx.Err() != nil, errors.Is(err, eventstore.ErrUnavailable):
		return "", err
	case err == nil && !found:
		return "the log ends before its checkpoint", nil
	case err != nil || at != kept:
		return "its checkpoint is of another log", nil //nolint:nilerr // a position that a log did not give out is refused
	}
	return "", nil
}
