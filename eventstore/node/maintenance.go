package node

import (
	"context"
	"errors"
	"fmt"

	"hexarena/eventstore/node/record"
	"hexarena/eventstore/node/storage"
)

// ErrBusy is returned by a second scavenge or backup at a time.
var ErrBusy = errors.New("a scavenge or a backup is in progress")

// BackedUp describes a backup.
type BackedUp struct {
	Target   string `json:"target"`
	Position uint64 `json:"position"` // of the last event that it surely holds
	Bytes    uint64 `json:"bytes"`    // of its files
}

// Scavenge removes the events that metadata and tombstones hide, from the log and
// then from every file of its folder. The other events keep their revisions and
// positions. A stream without events keeps its next revision. A tombstoned stream
// keeps its tombstone. Appends and reads continue meanwhile. Scavenge needs as much
// free disk space as the log takes. If it ends early, by ctx, by Close or by a
// crash, the next scavenge continues.
func (n *Node) Scavenge(ctx context.Context, progress storage.Progress) (done storage.Scavenged, err error) {
	ctx, leave, err := n.maintain(ctx)
	if err != nil {
		return storage.Scavenged{}, err
	}
	defer leave()
	done, err = n.log.Store.Scavenge(ctx, n.log.Tail.End(), record.Ticks(n.log.Now()), progress)
	n.log.Tail.Forget()
	if err == nil {
		err = n.log.Store.Purge(ctx, progress)
	}
	if err != nil {
		err = fmt.Errorf("scavenge: %w", err)
	}
	return done, err
}

// maintain admits one scavenge or backup at a time. Its context ends with the node.
func (n *Node) maintain(ctx context.Context) (_ context.Context, leave func(), err error) {
	if !n.maintenance.TryLock() {
		return nil, nil, ErrBusy
	}
	if err := n.Ready(); err != nil {
		n.maintenance.Unlock()
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(n.log.Life.Open(), func() { cancel(n.Ready()) })
	return ctx, func() { stop(); cancel(nil); n.maintenance.Unlock() }, nil
}

// Backup copies the log into a folder, which must be empty or not exist. The copy
// holds every event that was acknowledged before. Files that do not change any more
// are linked if the file system can. Appends and reads continue meanwhile. A node
// can open the copy. A backup that fails leaves no copy.
func (n *Node) Backup(ctx context.Context, target string) (BackedUp, error) {
	ctx, leave, err := n.maintain(ctx)
	if err != nil {
		return BackedUp{}, err
	}
	defer leave()
	done := BackedUp{Target: target, Position: n.log.Tail.End()}
	if done.Bytes, err = n.log.Store.CopyTo(ctx, target); err != nil {
		return BackedUp{}, err
	}
	return done, nil
}
