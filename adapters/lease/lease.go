// Package lease ensures that on each log, only one process seats tables. Call
// [OpenFolder] and [Acquire], seat until the channel [Lease.Lost] is closed, and call
// [Lease.Release] after everything that seats has stopped.
//
// The package does not know who plays the matches.
package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// These are the durations of a lease ("Who plays" in docs/architecture.md).
const (
	Length     = 15 * time.Second // how long a lease is valid after the start of the last stored renewal
	renewEvery = 5 * time.Second
	retryAfter = time.Second // wait after a failed renewal, and between reads of another holder's lease
)

// ErrUnrenewed reports that a lease expired because the log did not store a renewal in
// time.
var ErrUnrenewed = errors.New("the lease could not be renewed in time")

var kind = eventstore.Kind[arena.Player, arena.Event]{Decode: arena.DecodePlayer, Evolve: arena.EvolvePlayer}

// Lease is the right to seat tables, from Acquire until Lost or Release.
//
// The stream arena-player contains one event: the last claim, renewal or release. A
// claim raises the generation, which is the fencing token. A renewal or a release of an
// older generation stores nothing. Each write is appended at exactly the revision on
// which the decision was based. So if two processes claim the lease concurrently, only
// one of them succeeds.
//
// No process trusts the clock of another process. The holder stops when Length has
// passed on its own monotonic clock since the start of its last stored write. A waiting
// process reads the stream again and again. It claims the lease once Length has passed
// since the end of the first read that found the stream's last event. The holder began
// to write that event before that read ended. So the holder stops first, unless its
// process is paused.
//
// A holder that was paused for longer than Length may still try to write when it runs
// again. The lease cannot prevent this, but the expected revisions of appends to
// ladders and matches do: once the new holder has written to a stream, the old holder's
// writes to that stream fail.
type Lease struct {
	log        eventstore.Log
	folder     *Folder
	generation uint64 // the generation of this claim; set once, by Acquire

	mu      sync.Mutex    // guards the fields below
	renewed time.Time     // start of the last stored write
	again   chan struct{} // closed, and replaced, by each renewal

	stop    context.CancelFunc // ends renewLoop
	loop    sync.WaitGroup     // waits for renewLoop
	held    context.Context    // ends when the lease is lost
	lose    context.CancelCauseFunc
	release sync.Once
}

// Acquire waits for the lease and takes it. It renews the lease in the background until
// Release.
//
// If the same folder held the lease before a crash, Acquire takes the lease back
// immediately. If another process holds the lease, Acquire takes it as soon as the
// holder releases it or has not renewed it for Length. While the log is unavailable,
// Acquire waits for it. ctx applies only to Acquire, not to the lease.
func Acquire(ctx context.Context, log eventstore.Log, folder *Folder) (*Lease, error) {
	l := &Lease{log: log, folder: folder, again: make(chan struct{})}
	if err := l.acquire(ctx); err != nil {
		return nil, err
	}
	unbounded := context.WithoutCancel(ctx)
	l.held, l.lose = context.WithCancelCause(unbounded)
	renewing, stop := context.WithCancel(unbounded)
	l.stop = stop
	l.loop.Go(func() { l.renewLoop(renewing) })
	return l, nil
}

// Generation returns the number of this claim. All claims in the log are numbered from
// 1.
func (l *Lease) Generation() uint64 { return l.generation }

// Lost returns a channel that is closed when the lease is lost: either another process
// has taken the lease, or this process could not renew it for Length. The process must
// then stop seating immediately. Release does not close the channel.
func (l *Lease) Lost() <-chan struct{} { return l.held.Done() }

// Err returns nil until the channel Lost is closed. After that, it returns the reason:
// arena.ErrNotSeating or ErrUnrenewed.
func (l *Lease) Err() error { return context.Cause(l.held) }

// Gate returns nil while the lease has been renewed in time. Otherwise, for example after
// this process was paused, it returns a channel that the next renewal closes. If another
// process has taken the lease in the meantime, the channel never closes. So a caller that
// waits for the gate never acts under a lease that this process no longer has.
func (l *Lease) Gate() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Until(l.renewed.Add(Length)) > 0 {
		return nil
	}
	return l.again
}

// Release gives up the lease, so that another process may seat immediately. Call it
// after everything that seats has stopped. If the lease is lost, Release does nothing.
// If the log does not store the release, other processes wait until the lease expires.
// Only the first call has an effect.
func (l *Lease) Release(ctx context.Context) error {
	var err error
	l.release.Do(func() {
		l.stop()
		l.loop.Wait()
		if l.Err() == nil {
			err = l.giveUp(ctx)
		}
	})
	return err
}

func (l *Lease) giveUp(ctx context.Context) error {
	err := l.handle(ctx, arena.Player.Release)
	if err != nil {
		return fmt.Errorf("release the lease: %w", err)
	}
	return nil
}

// handle calls the function decide with this claim, and appends the events that the
// function returns.
func (l *Lease) handle(ctx context.Context, decide func(p arena.Player, holder string, generation uint64) ([]arena.Event, error)) error {
	_, _, err := kind.Handle(ctx, l.log, arena.PlayerStream, arena.Player{}, l.metadata(), func(p arena.Player) ([]arena.Event, error) {
		return decide(p, l.folder.ID, l.generation)
	})
	return err
}

func (l *Lease) metadata() eventstore.Metadata {
	return eventstore.Metadata{At: time.Now(), Correlation: l.folder.ID}
}
