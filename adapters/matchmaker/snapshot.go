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

// snapshotEvery is the default number of events between two snapshots. So when a process
// starts, it has to fold at most about this many events.
const snapshotEvery = 10_000

// snapshotTime is the time limit for storing a snapshot.
const snapshotTime = time.Minute

// The type snapshots describes the snapshots of a Ladder.
type snapshots struct {
	every    uint64        // events between two snapshots
	due      chan struct{} // contains a value if it may be time for the next snapshot
	restored bool          // whether the ladder has already looked for a snapshot; guarded by writing
	last     uuid.UUID     // id of the last folded event; guarded by mu
	covered  uint64        // the version of the ladder that the newest snapshot contains; guarded by mu
}

func newSnapshots(every uint64) snapshots {
	return snapshots{every: every, due: make(chan struct{}, 1)}
}

// TakeSnapshots takes a snapshot after every SnapshotEvery folded events until ctx
// ends. It blocks the ladder only while it copies the state in memory. It does not
// retry a failed snapshot, because the ladder does not depend on it.
func (l *Ladder) TakeSnapshots(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.snapshots.due:
			if err := l.takeSnapshot(ctx); err != nil && ctx.Err() == nil {
				l.options.Logger.Warn("could not store a snapshot of the ladder; will try again at the next snapshot", "mode", l.Mode(), "error", err)
			}
		}
	}
}

// wakeSnapshots wakes TakeSnapshots if it is time for a snapshot.
func (l *Ladder) wakeSnapshots() {
	l.mu.RLock()
	folded := l.state.Version() - l.snapshots.covered
	l.mu.RUnlock()
	if folded < l.snapshots.every {
		return
	}
	select {
	case l.snapshots.due <- struct{}{}:
	default:
	}
}

// takeSnapshot stores the current state. The stream of snapshots keeps only its last
// event. If two arenas store snapshots at the same time, it does not matter which of
// the two remains.
func (l *Ladder) takeSnapshot(ctx context.Context) error {
	l.mu.Lock()
	state, version, last := l.state.State(), l.state.Version(), l.snapshots.last
	l.snapshots.covered = version
	l.mu.Unlock()
	if version == 0 {
		return nil
	}
	taken, err := state.Snapshot(l.Mode(), version-1, last.String())
	if err != nil {
		return err
	}
	encoded, err := eventstore.Encode(taken, eventstore.Metadata{At: time.Now(), Correlation: string(l.stream)})
	if err != nil {
		return err
	}
	id := eventstore.StreamID(ladder.SnapshotStream(l.Mode()))
	ctx, cancel := context.WithTimeout(ctx, snapshotTime)
	defer cancel()
	return retry(ctx, func(ctx context.Context) error {
		if err := l.log.SetMetadata(ctx, id, eventstore.StreamMetadata{MaxCount: 1}); err != nil {
			return fmt.Errorf("keep only the last event of %s: %w", id, err)
		}
		_, err := l.log.Append(ctx, id, eventstore.Any, encoded)
		return err
	})
}

// restoreOnce restores the newest snapshot before the first read of the ladder. If it
// cannot use the snapshot, it logs a warning, and the caller folds the ladder from its
// first event.
func (l *Ladder) restoreOnce(ctx context.Context) error {
	if l.snapshots.restored {
		return nil
	}
	err := retry(ctx, l.restore)
	switch {
	case errors.Is(err, ladder.ErrNoUse) || errors.Is(err, eventstore.ErrStreamDeleted):
		l.options.Logger.Warn("cannot use the snapshot of the ladder; folding the ladder from its first event", "mode", l.Mode(), "error", err)
	case err != nil:
		return fmt.Errorf("read the snapshot of %s: %w", l.stream, err)
	}
	l.snapshots.restored = true
	return nil
}

// restore sets the state from the newest snapshot, if one exists.
func (l *Ladder) restore(ctx context.Context) error {
	taken, found, err := l.newest(ctx)
	if err != nil || !found {
		return err
	}
	state, err := taken.Restore(l.Mode())
	if err != nil {
		return err
	}
	last, err := l.lastEvent(ctx, taken)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state, l.snapshots.last, l.snapshots.covered = state, last, state.Version()
	return nil
}

// The method newest() reads the newest snapshot.
func (l *Ladder) newest(ctx context.Context) (taken ladder.LadderSnapshotTaken, found bool, err error) {
	id := eventstore.StreamID(ladder.SnapshotStream(l.Mode()))
	for r, err := range l.log.Read(ctx, id, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return taken, false, err
		}
		e, err := ladder.DecodeSnapshot(r.Type, r.Data)
		if err != nil {
			return taken, false, fmt.Errorf("%w: %w", ladder.ErrNoUse, err)
		}
		taken, found = e.(ladder.LadderSnapshotTaken), true
	}
	return taken, found, nil
}

// lastEvent returns the id of the last event that a snapshot includes. It fails if the
// ladder's stream does not contain that event, for example because the log was restored
// from an older backup.
func (l *Ladder) lastEvent(ctx context.Context, taken ladder.LadderSnapshotTaken) (uuid.UUID, error) {
	at := eventstore.Revision(taken.Revision)
	for r, err := range l.log.Read(ctx, l.stream, at, eventstore.ReadOptions{Limit: 1}) {
		switch {
		case err != nil:
			return uuid.Nil, err
		case r.Revision != at || r.ID.String() != taken.EventID:
			return uuid.Nil, fmt.Errorf("%w: the event %s@%d has a different id than the snapshot expects", ladder.ErrNoUse, l.stream, at)
		}
		return r.ID, nil
	}
	return uuid.Nil, fmt.Errorf("%w: %s ends before @%d, the last event that the snapshot includes", ladder.ErrNoUse, l.stream, at)
}
