package node

import (
	"context"
	"errors"
	"fmt"

	"hexarena/eventstore/node/lifecycle"
	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// ErrBusy is returned by a second scavenge or backup at a time.
var ErrBusy = errors.New("a scavenge or a backup is in progress")

// BackedUp is what a backup holds.
type BackedUp struct {
	Target   string `json:"target"`
	Position uint64 `json:"position"` // of the last event that it holds for sure
	Bytes    uint64 `json:"bytes"`    // of its files
}

// Scavenge removes from the log, and then from every file of its folder, the
// events that metadata and tombstones hide. Revisions and positions of what is
// left stay as they are; a stream of which nothing is left is numbered on; of
// a tombstoned stream the tombstone is left. It works beside appends and reads,
// and needs as much room on the disk as the log has. One that ends early, by
// ctx, by Close or by a crash, leaves a log on which the next one goes on.
func (n *Node) Scavenge(ctx context.Context, progress storage.Progress) (done storage.Scavenged, err error) {
	ctx, leave, err := n.maintain(ctx)
	if err != nil {
		return storage.Scavenged{}, err
	}
	defer leave()
	done, err = n.store.Scavenge(ctx, n.tail.End(), record.Ticks(n.now()), progress)
	n.tail.Forget()
	if err == nil {
		err = n.store.Purge(ctx, progress)
	}
	if err != nil {
		err = fmt.Errorf("scavenge: %w", err)
	}
	return done, err
}

// maintain admits one long work at a time. Its context ends with the node.
func (n *Node) maintain(ctx context.Context) (_ context.Context, leave func(), err error) {
	if !n.maintenance.TryLock() {
		return nil, nil, ErrBusy
	}
	if err := n.life.Ready(); err != nil {
		n.maintenance.Unlock()
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-n.life.Closing():
			cancel(lifecycle.ErrClosed)
		case <-n.life.Failed():
			cancel(lifecycle.ErrFailed)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil); n.maintenance.Unlock() }, nil
}

// Backup copies the log as it is now into a folder, which must be empty or not
// exist: everything that was acknowledged before is in the copy. Files that do
// not change any more are linked rather than copied, where the file system
// can. It works beside appends and reads. The copy is a folder that a node can
// be opened on; a backup that fails leaves none.
func (n *Node) Backup(ctx context.Context, target string) (BackedUp, error) {
	ctx, leave, err := n.maintain(ctx)
	if err != nil {
		return BackedUp{}, err
	}
	defer leave()
	done := BackedUp{Target: target, Position: n.tail.End()}
	if done.Bytes, err = n.store.CopyTo(ctx, target); err != nil {
		return BackedUp{}, err
	}
	return done, nil
}
