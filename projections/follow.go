package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"time"

	"hexarena/eventstore"
)

// While a model catches up, it commits a batch when the batch reaches this size
// or age. The batches are large because a batch writes each changed page of the
// database file only once, and the rows of many bots are spread over many
// pages. A model that has caught up commits as soon as its queue is empty.
const (
	batchEvents = 100_000
	batchAge    = 5 * time.Second
)

const (
	idleInterval = 10 * time.Second // time between checkpoints of an idle model
	idleTimeout  = 2 * time.Second  // how long a checkpoint of an idle model waits for the log
	retryDelay   = time.Second      // wait before folding an event again after an outage
	queueSize    = 256              // maximum number of messages that wait for a model
)

// batch describes the events that were folded since the last commit. Runner.folding
// guards it.
type batch struct {
	tx     *Tx // nil if the batch is empty
	events int
	began  time.Time
	last   anchor
}

// delivery is a message or an error from a subscription.
type delivery struct {
	message eventstore.Message
	err     error
}

// followOn follows the log, and begins again if the log loses events. Profiles show the
// name of the model.
func (r *Runner) followOn(ctx context.Context, enough func() bool) (err error) {
	pprof.Do(ctx, pprof.Labels("part", r.model.Name()), func(ctx context.Context) { err = r.followAcrossLosses(ctx, enough) })
	return err
}

func (r *Runner) followAcrossLosses(ctx context.Context, enough func() bool) error {
	lost := false
	for {
		err := r.follow(ctx, enough)
		switch {
		case errors.Is(err, eventstore.ErrEventsLost):
			lost = true
		case !lost || !errors.Is(err, eventstore.ErrUnavailable):
			return err
		}
		r.logger.Warn("the log has lost events; checking whether the rows include them", "error", err)
		if err := eventstore.Sleep(ctx, retryDelay); err != nil {
			return err
		}
	}
}

// goBack returns to the last commit after a subscription has ended because the log lost
// events. The next call to start checks whether the log still contains the event of the
// checkpoint. The parameter resets is the number of resets when the subscription began.
func (r *Runner) goBack(resets int) error {
	defer r.lock()()
	if err := r.Err(); err != nil || r.resets != resets {
		return err
	}
	return r.reset()
}

// The method reset() returns to the last commit. From then on, the messages of all
// existing subscriptions are rejected.
func (r *Runner) reset() error {
	r.resets++
	r.logChecked = false
	if r.batch.tx != nil {
		r.batch.tx.rollback()
		r.batch = batch{}
		if err := r.model.Load(r.file.rows); err != nil {
			return r.fail(fmt.Errorf("projection %s: %w", r.model.Name(), err))
		}
	}
	r.applied = r.file.checkpoint.position
	r.setCommitted(r.applied)
	return nil
}

// The method outdated() reports whether the messages of a subscription must be rejected.
// The parameter resets is the number of resets when the subscription began. The caller
// must hold folding.
func (r *Runner) outdated(resets int) bool {
	doubted, _ := r.doubted()
	return doubted || r.resets != resets
}

// The method follow() applies messages until ctx ends or the function enough returns
// true. It calls this function each time the subscription reaches the log's end. Before
// it returns, it commits the events that it has folded.
func (r *Runner) follow(ctx context.Context, enough func() bool) error {
	doubt := r.doubting()
	from, resets, err := r.start(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	messages := r.subscribe(ctx, from)
	defer func() {
		cancel()
		for range messages { //revive:disable-line:empty-block // wait for the subscription to end
		}
	}()
	idle := time.NewTicker(idleInterval)
	defer idle.Stop()
	age := time.NewTicker(batchAge)
	defer age.Stop()
	live := false
	for {
		select {
		case d, open := <-messages:
			switch {
			case !open:
				return errors.Join(r.commit(), ctx.Err())
			case errors.Is(d.err, eventstore.ErrEventsLost):
				return errors.Join(d.err, r.goBack(resets))
			case d.err != nil:
				return errors.Join(d.err, r.commit())
			}
			live = live || d.message.CaughtUp
			due := live && len(messages) == 0 || d.message.CaughtUp
			err := r.take(d.message, resets, due)
			for ctx.Err() == nil && errors.Is(err, eventstore.ErrUnavailable) {
				err = r.retry(ctx, d.message, resets, due, err)
			}
			if errors.Is(err, eventstore.ErrEventsLost) {
				return errors.Join(err, r.goBack(resets))
			}
			if err != nil {
				return err
			}
			if d.message.CaughtUp && enough() {
				return nil
			}
		case <-doubt: // the subscription may have begun after the loss, so that it does not end
			doubt = r.doubting()
			unlock := r.lock()
			outdated := r.outdated(resets)
			unlock()
			if outdated {
				return errors.Join(eventstore.ErrEventsLost, r.goBack(resets))
			}
		case <-age.C:
			if err := r.commitOld(); err != nil {
				return err
			}
		case <-idle.C:
			if err := r.checkpointIfIdle(ctx); err != nil {
				return err
			}
		}
	}
}

// subscribe reads ahead, so that the model can fold all waiting messages in one
// batch. It closes the channel when the subscription ends.
func (r *Runner) subscribe(ctx context.Context, from eventstore.Position) <-chan delivery {
	messages := make(chan delivery, queueSize)
	go func() {
		defer close(messages)
		for m, err := range r.log.Subscribe(ctx, from, r.model.Filter()) {
			select {
			case messages <- delivery{m, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return messages
}

// start returns the position to subscribe from, and the number of resets. The first call
// checks whether the rows belong to this log, and replaces the file if they do not. So
// does the first call after a loss or after Doubt.
func (r *Runner) start(ctx context.Context) (eventstore.Position, int, error) {
	if err := r.folding.Acquire(ctx, 1); err != nil { // another call may be waiting for the log
		return 0, 0, fmt.Errorf("projection %s: %w", r.model.Name(), err)
	}
	defer r.folding.Release(1)
	if err := r.Err(); err != nil {
		return 0, 0, err
	}
	doubted, doubts := r.doubted()
	if doubted {
		if err := r.reset(); err != nil {
			return 0, 0, err
		}
	}
	if !r.logChecked {
		why, err := r.mismatch(ctx)
		if err != nil {
			return 0, 0, fmt.Errorf("projection %s: %w", r.model.Name(), err)
		}
		if why != "" {
			r.setRefolding(r.resets > 0)
			if err := r.replaceFile(why); err != nil {
				return 0, 0, r.fail(fmt.Errorf("projection %s: %w", r.model.Name(), err))
			}
		}
		r.logChecked = true
		r.mu.Lock()
		r.checked = doubts
		r.wake()
		r.mu.Unlock()
	}
	return r.applied, r.resets, nil
}

func (r *Runner) setRefolding(refolding bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refolding != refolding {
		r.refolding = refolding
		if refolding {
			r.refolds++
		}
		r.wake()
	}
}

// The method take() folds a message, unless another call to Run or Sync has already
// folded it. It commits the batch if the parameter due is true, or if the batch is
// large or old. It rejects messages of a subscription that began before the last reset.
func (r *Runner) take(m eventstore.Message, resets int, due bool) error {
	defer r.lock()()
	if err := r.Err(); err != nil {
		return err
	}
	if r.outdated(resets) {
		return eventstore.ErrEventsLost
	}
	if m.Event != nil && m.Event.Position > r.applied {
		if err := r.fold(*m.Event); err != nil {
			return err
		}
	}
	r.applied = max(r.applied, m.Checkpoint)
	if due || r.batch.tx == nil || r.batch.events >= batchEvents || time.Since(r.batch.began) >= batchAge {
		if err := r.commitBatch(); err != nil {
			return err
		}
	}
	if m.CaughtUp {
		r.setRefolding(false)
	}
	if due {
		r.meter.markCaughtUp()
	}
	return nil
}

// retry handles a message whose fold failed because the log was unavailable. It
// waits, and then folds the message again.
func (r *Runner) retry(ctx context.Context, m eventstore.Message, resets int, due bool, why error) error {
	r.logger.Warn("a read model is waiting for the log", "error", why)
	if eventstore.Sleep(ctx, retryDelay) != nil {
		return why
	}
	return r.take(m, resets, due)
}

// fold applies an event. If the model rejects the event, fold commits the events
// before it and stops the model.
func (r *Runner) fold(e eventstore.Recorded) error {
	if r.batch.tx == nil {
		tx, err := r.file.begin()
		if err != nil {
			return r.stopOnFileError(nil, err)
		}
		r.batch = batch{tx: tx, began: time.Now()}
	}
	r.meter.markBehind()
	err := r.model.Apply(r.batch.tx, e)
	switch {
	case r.batch.tx.err != nil:
		return r.stopOnFileError(r.batch.tx, r.batch.tx.err)
	case err != nil:
		if err := r.commitBatch(); err != nil {
			return err
		}
		if errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, eventstore.ErrEventsLost) {
			return err
		}
		return r.fail(fmt.Errorf("projection %s at %s@%d: %w", r.model.Name(), e.Stream, e.Revision, err))
	}
	r.applied = e.Position
	r.batch.events++
	r.batch.last = anchor{e.Position, e.ID}
	return nil
}

// freeCache frees the pages that the writer has read to check the file and to catch up.
// Otherwise, readers would take over these pages, because SQLite limits all caches together
// (docs/adr/0024).
func (r *Runner) freeCache() {
	defer r.lock()()
	_, _ = r.file.writer.ExecContext(context.Background(), "PRAGMA shrink_memory") // it fails only if the file is closed
}

func (r *Runner) commit() error {
	defer r.lock()()
	if err := r.Err(); err != nil {
		return err
	}
	return r.commitBatch()
}

// commitOld commits the batch if it is old. The method follow() calls it regularly,
// because there may be no next message that would trigger the commit.
func (r *Runner) commitOld() error {
	defer r.lock()()
	if r.batch.tx == nil || time.Since(r.batch.began) < batchAge {
		return nil
	}
	return r.commitBatch()
}

// commitBatch commits the batch, if there is one, and makes it visible to
// readers.
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
			err = b.tx.commit(checkpoint{b.last.position, b.last})
		}
		if err != nil {
			return r.stopOnFileError(b.tx, err)
		}
		r.meter.events.Add(uint64(b.events))
		r.meter.commits.Add(1)
	}
	r.setCommitted(r.applied)
	return nil
}

// stopOnFileError rolls back the transaction and stops the model. If the
// committed rows can be read, it reloads the model's memory from them.
func (r *Runner) stopOnFileError(tx *Tx, err error) error {
	r.batch = batch{}
	if tx != nil {
		tx.rollback()
	}
	if damaged(err) {
		r.file.removeOnClose = true
		err = fmt.Errorf("%w: the service rebuilds the rows when it is restarted", err)
	} else if loadErr := r.model.Load(r.file.rows); loadErr != nil {
		err = errors.Join(err, loadErr)
	}
	return r.fail(fmt.Errorf("projection %s: %s: %w", r.model.Name(), path(r.dir, r.model.Name()), err))
}

// checkpointIfIdle saves a checkpoint if the log has grown but contains no new
// selected events. The next process then does not read that part of the log again.
// The checkpoint needs an event at or after its position to identify the log. If
// there is no such event, checkpointIfIdle does nothing.
func (r *Runner) checkpointIfIdle(ctx context.Context) error {
	defer r.lock()()
	if r.batch.tx != nil || r.applied == r.file.checkpoint.position || r.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	at, found, err := r.anchorAt(ctx, r.applied)
	if doubted, _ := r.doubted(); err != nil || !found || doubted {
		return nil // the next call tries again
	}
	tx, err := r.file.begin()
	if err == nil {
		err = tx.commit(checkpoint{r.applied, at})
	}
	if err != nil {
		return r.stopOnFileError(tx, err)
	}
	return nil
}

// anchorAt returns the first event at or after a position.
func (r *Runner) anchorAt(ctx context.Context, p eventstore.Position) (at anchor, found bool, err error) {
	for e, err := range r.log.ReadAll(ctx, p, eventstore.ReadOptions{Limit: 1}) {
		if err != nil {
			return anchor{}, false, err
		}
		at, found = anchor{e.Position, e.ID}, true
	}
	return at, found, ctx.Err()
}

// mismatch returns the reason why the rows do not belong to this log. If the
// rows may belong to this log, mismatch returns "".
func (r *Runner) mismatch(ctx context.Context) (why string, err error) {
	saved := r.file.checkpoint.anchor
	if saved.position == 0 {
		return "", nil
	}
	at, found, err := r.anchorAt(ctx, saved.position)
	switch {
	case ctx.Err() != nil, errors.Is(err, eventstore.ErrUnavailable), errors.Is(err, eventstore.ErrEventsLost):
		return "", cmp.Or(err, ctx.Err())
	case err == nil && !found:
		return "the log ends before its checkpoint", nil
	case err != nil || at != saved:
		return "its checkpoint belongs to another log", nil //nolint:nilerr // the log did not assign this position, so it belongs to another log
	}
	return "", nil
}
