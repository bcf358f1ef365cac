package matchmaker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// How patient a ladder is with its log.
const (
	attemptTime = 5 * time.Second // one call
	firstPause  = 50 * time.Millisecond
	longPause   = time.Second
)

// errUnreadable says that what is stored cannot be folded; no retrying mends
// that.
var errUnreadable = errors.New("the ladder's stream cannot be folded")

// expected is what an append on top of the state demands.
func (l *Ladder) expected() eventstore.Expected {
	if l.state.Version() == 0 {
		return eventstore.NoStream
	}
	return eventstore.At(eventstore.Revision(l.state.Version() - 1))
}

// store appends one event on top of the state and folds it. On errConflict it
// was not stored, and the state has what was stored instead.
func (l *Ladder) store(ctx context.Context, e eventstore.Event) error {
	expected, next := l.expected(), eventstore.Revision(l.state.Version())
	var appended eventstore.Appended
	err := retry(ctx, func(ctx context.Context) (err error) {
		appended, err = l.log.Append(ctx, l.stream, expected, e)
		return err
	})
	switch {
	case eventstore.IsWrongVersion(err):
		return l.settle(ctx, e.ID)
	case err != nil:
		return fmt.Errorf("append to %s: %w", l.stream, err)
	case appended.Revision != next: // stored by an earlier try, and more since
		return l.settle(ctx, e.ID)
	}
	defer l.mayBeDue()
	return l.fold(eventstore.Recorded{Event: e, Stream: l.stream, Revision: next})
}

// settle reads what stands where an append was to be: the event itself, stored
// by a try whose acknowledgement was lost, or another writer's.
func (l *Ladder) settle(ctx context.Context, ours uuid.UUID) error {
	stored, err := l.catchUp(ctx, ours)
	if err == nil && !stored {
		return errConflict
	}
	return err
}

// catchUp folds what was stored since, and says whether ours is among it. What
// it folded before an error stays folded. The first begins with a snapshot.
func (l *Ladder) catchUp(ctx context.Context, ours uuid.UUID) (stored bool, err error) {
	if err := l.begin(ctx); err != nil {
		return false, err
	}
	defer l.mayBeDue()
	err = retry(ctx, func(ctx context.Context) error {
		from := eventstore.Revision(l.state.Version())
		for r, err := range l.log.Read(ctx, l.stream, from, eventstore.ReadOptions{}) {
			if err != nil {
				return err
			}
			if err := l.fold(r); err != nil {
				return err
			}
			stored = stored || r.ID == ours
		}
		return nil
	})
	if err != nil {
		return stored, fmt.Errorf("read %s: %w", l.stream, err)
	}
	return stored, nil
}

func (l *Ladder) fold(r eventstore.Recorded) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if want := eventstore.Revision(l.state.Version()); r.Revision != want {
		return fmt.Errorf("%w: %s@%d stands where @%d belongs", errUnreadable, r.Stream, r.Revision, want)
	}
	next, err := kind.Fold(l.state, r)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	l.state, l.snapshots.last = next, r.ID
	return nil
}

// retry tries until it succeeds, fails for good, or ctx ends; then it returns
// the last failure with the end of ctx.
func retry(ctx context.Context, try func(context.Context) error) error {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		err := try(attempt)
		cancel()
		if err == nil || isFinal(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

func isFinal(err error) bool {
	return eventstore.IsWrongVersion(err) ||
		errors.Is(err, eventstore.ErrStreamDeleted) ||
		errors.Is(err, eventstore.ErrTooLarge) ||
		errors.Is(err, errUnreadable) ||
		errors.Is(err, ladder.ErrNoUse)
}
