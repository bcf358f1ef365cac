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

// snapshotEvery is how many events a ladder folds between two snapshots, and so
// about how many a start folds at most.
const snapshotEvery = 10_000

// snapshotTime is how long storing one may take.
const snapshotTime = time.Minute

// snapshots is what a Ladder knows of its own.
type snapshots struct {
	every   uint64
	due     chan struct{} // has an element when the next may be taken
	sought  bool          // the newest was looked for; whoever is writing has it
	last    uuid.UUID     // id of the last event folded; guarded by mu
	covered uint64        // version of the ladder at the newest; guarded by mu
}

func newSnapshots() snapshots {
	return snapshots{every: snapshotEvery, due: make(chan struct{}, 1)}
}

// KeepSnapshots takes a snapshot each time that the ladder has folded so many
// events more, until ctx ends. Nothing waits for it, but for the time of a copy
// in memory. One that fails is passed over: it would have saved only time.
func (l *Ladder) KeepSnapshots(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.snapshots.due:
			if err := l.takeSnapshot(ctx); err != nil && ctx.Err() == nil {
				l.config.Logger.Warn("no snapshot was taken of a ladder", "mode", l.Mode(), "error", err)
			}
		}
	}
}

// mayBeDue wakes KeepSnapshots once enough was folded since the newest.
func (l *Ladder) mayBeDue() {
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

// takeSnapshot stores the ladder as it is. Another writer's that lands at the
// same time may take its place, which is as good.
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
			return fmt.Errorf("limit %s: %w", id, err)
		}
		_, err := l.log.Append(ctx, id, eventstore.Any, encoded)
		return err
	})
}

// begin starts a ladder that has folded nothing from the newest snapshot, once.
// One that is of no use costs a line in the log, and the time to fold from zero.
func (l *Ladder) begin(ctx context.Context) error {
	if l.snapshots.sought {
		return nil
	}
	err := retry(ctx, l.restore)
	switch {
	case errors.Is(err, ladder.ErrNoUse) || errors.Is(err, eventstore.ErrStreamDeleted):
		l.config.Logger.Warn("a ladder is folded from its first event", "mode", l.Mode(), "error", err)
	case err != nil:
		return fmt.Errorf("read the snapshot of %s: %w", l.stream, err)
	}
	l.snapshots.sought = true
	return nil
}

// restore takes the newest snapshot for the state, if there is one.
func (l *Ladder) restore(ctx context.Context) error {
	taken, found, err := l.newest(ctx)
	if err != nil || !found {
		return err
	}
	state, err := taken.Restore(l.Mode())
	if err != nil {
		return err
	}
	last, err := l.lastIn(ctx, taken)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state, l.snapshots.last, l.snapshots.covered = state, last, state.Version()
	return nil
}

// newest reads the stream of snapshots from its end.
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

// lastIn is the id of the last event that is in a snapshot. A ladder whose
// stream is shorter, or has another event there, is not the one that it was
// taken of: such a log was restored from before the snapshot.
func (l *Ladder) lastIn(ctx context.Context, taken ladder.LadderSnapshotTaken) (uuid.UUID, error) {
	at := eventstore.Revision(taken.Revision)
	for r, err := range l.log.Read(ctx, l.stream, at, eventstore.ReadOptions{Limit: 1}) {
		switch {
		case err != nil:
			return uuid.Nil, err
		case r.Revision != at || r.ID.String() != taken.EventID:
			return uuid.Nil, fmt.Errorf("%w: %s@%d is another event than it was taken at", ladder.ErrNoUse, l.stream, at)
		}
		return r.ID, nil
	}
	return uuid.Nil, fmt.Errorf("%w: it is ahead of %s, which ends before @%d", ladder.ErrNoUse, l.stream, at)
}
