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

// errUnreadable reports that stored events cannot be folded. Retrying does not help.
var errUnreadable = errors.New("the ladder's stream cannot be folded")

func retry(ctx context.Context, call func(context.Context) error) error {
	return eventstore.Retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, eventstore.AttemptTime)
		defer cancel()
		return call(ctx)
	}, errUnreadable, ladder.ErrNoUse)
}

// The method expected() returns the expected revision for an append after the last
// folded event.
func (l *Ladder) expected() eventstore.Expected {
	if l.state.Version() == 0 {
		return eventstore.NoStream
	}
	return eventstore.At(eventstore.Revision(l.state.Version() - 1))
}

// append stores one event after the last folded event, and folds it too. If append
// returns errConflict, the event was not stored, and the state includes the events that
// other writers stored in its place.
func (l *Ladder) append(ctx context.Context, e eventstore.Event) error {
	expected, next := l.expected(), eventstore.Revision(l.state.Version())
	var appended eventstore.Appended
	err := retry(ctx, func(ctx context.Context) (err error) {
		appended, err = l.log.Append(ctx, l.stream, expected, e)
		return err
	})
	switch {
	case eventstore.IsWrongVersion(err):
		return l.resolveConflict(ctx, e.ID)
	case err != nil:
		return fmt.Errorf("append to %s: %w", l.stream, err)
	case appended.Revision != next: // an earlier attempt stored the event, and then other writers appended
		return l.resolveConflict(ctx, e.ID)
	}
	defer l.wakeSnapshots()
	return l.fold(eventstore.Recorded{Event: e, Stream: l.stream, Revision: next})
}

// resolveConflict reads the events that were stored at and after the expected revision.
// If our event is one of them, an earlier attempt stored it, and only the
// acknowledgement was lost.
func (l *Ladder) resolveConflict(ctx context.Context, ours uuid.UUID) error {
	stored, err := l.catchUp(ctx, ours)
	if err == nil && !stored {
		return errConflict
	}
	return err
}

// catchUp folds the events that were stored since the last read, and reports whether
// one of them has the given id. If the read fails partway, the state still
// includes the events folded so far. The first call starts from a snapshot.
//
// A cluster may lose events that the ladder has folded. So each read begins with the
// last folded event. If another event is there, the ladder folds the stream again.
func (l *Ladder) catchUp(ctx context.Context, ours uuid.UUID) (stored bool, err error) {
	defer l.wakeSnapshots()
	began := time.Now()
	err = retry(ctx, func(ctx context.Context) error {
		err := l.foldFrom(ctx, ours, &stored)
		if errors.Is(err, errLost) {
			l.options.Logger.Error("the log has lost events of the ladder; folding the ladder again", "mode", l.Mode(), "error", err)
			l.reset()
			return err // the next attempt folds from the newest snapshot that still holds
		}
		return err
	})
	if err != nil {
		return stored, fmt.Errorf("read %s: %w", l.stream, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readAt = began
	return stored, nil
}

func (l *Ladder) fold(r eventstore.Recorded) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if want := eventstore.Revision(l.state.Version()); r.Revision != want {
		return fmt.Errorf("%w: read %s@%d instead of @%d", errUnreadable, r.Stream, r.Revision, want)
	}
	next, err := kind.Fold(l.state, r)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	l.state, l.snapshots.last = next, r.ID
	return nil
}

// errLost reports that the log no longer contains the last folded event.
var errLost = errors.New("the log no longer contains the last folded event")

// foldFrom folds the events after the last folded event, and checks that this event is
// still there.
func (l *Ladder) foldFrom(ctx context.Context, ours uuid.UUID, stored *bool) error {
	restored := l.snapshots.restored
	if err := l.restoreOnce(ctx); err != nil {
		return err
	}
	next := eventstore.Revision(l.state.Version())
	from, held := next, next == 0 || !restored // restoreOnce checks the last event of a snapshot
	if !held {
		from--
	}
	for r, err := range l.log.Read(ctx, l.stream, from, eventstore.ReadOptions{}) {
		switch {
		case err != nil:
			return err
		case !held:
			if r.Revision != next-1 || r.ID != l.snapshots.last {
				return fmt.Errorf("%w: %s@%d", errLost, l.stream, next-1)
			}
			held = true
			continue
		}
		if err := l.fold(r); err != nil {
			return err
		}
		*stored = *stored || r.ID == ours
	}
	if !held {
		return fmt.Errorf("%w: %s ends before @%d", errLost, l.stream, next-1)
	}
	return nil
}

// reset forgets the folded state.
func (l *Ladder) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state, l.readAt = ladder.New(l.Mode()), time.Time{}
	l.snapshots.restored, l.snapshots.last, l.snapshots.covered = false, uuid.Nil, 0
}
