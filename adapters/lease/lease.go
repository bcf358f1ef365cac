// Package lease holds the lease of a log's one player: the process that seats
// tables and referees matches. Two processes never hold it at once by their
// clocks, and what a paused one still tries is refused by the exact revisions
// of the ladder and the matches, not here. It knows nothing of what is played.
package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"hexarena/domain/arena"
	"hexarena/eventstore"
)

// The clocks of a lease ("Who plays" in docs/architecture.md).
const (
	Length     = 15 * time.Second // from the start of the last renewal that was stored
	renewEvery = 5 * time.Second
	retryAfter = time.Second // of a renewal that failed, and of a look at another's lease
)

// ErrUnrenewed is why a lease was lost that could not be renewed in time.
var ErrUnrenewed = errors.New("the lease could not be renewed in time")

var kind = eventstore.Kind[arena.Player, arena.Event]{Decode: arena.DecodePlayer, Evolve: arena.EvolvePlayer}

// Lease is the right to play, from Acquire until Lost or Release.
type Lease struct {
	log        eventstore.Log
	folder     *folder
	host       string
	generation uint64    // of our claim; set once by Acquire
	renewed    time.Time // start of the last write that was stored; the renewing goroutine's

	stop    context.CancelFunc
	stopped chan struct{} // closed when the renewing goroutine has ended
	lost    chan struct{}
	reason  error // written before lost is closed
	release sync.Once
}

// Acquire takes the lease of the log's player for the process that uses a data
// folder, and keeps it renewed until Release. A lease that the same folder
// held, before a crash, is taken back at once. While another holds it, Acquire
// watches for its length: then it takes what was released meanwhile or has not
// been renewed, or fails with *arena.HeldError. It fails at once where another
// process uses the folder. ctx bounds the acquiring alone.
func Acquire(ctx context.Context, log eventstore.Log, dataFolder string) (*Lease, error) {
	folder, err := openFolder(dataFolder)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	l := &Lease{log: log, folder: folder, host: host, stopped: make(chan struct{}), lost: make(chan struct{})}
	if err := l.acquire(ctx); err != nil {
		return nil, errors.Join(err, folder.close())
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.keep(renewing)
	return l, nil
}

// Holder is the player's id: that of its data folder.
func (l *Lease) Holder() string { return l.folder.id }

// Generation numbers the claim among all of the log, from 1.
func (l *Lease) Generation() uint64 { return l.generation }

// Lost is closed when another took the lease, or when it could not be renewed
// for its length: the process must stop playing at once. It stays open after a
// Release.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Err is nil until Lost is closed; then it says why: arena.ErrNotPlaying or
// ErrUnrenewed.
func (l *Lease) Err() error {
	select {
	case <-l.lost:
		return l.reason
	default:
		return nil
	}
}

// Release gives the lease up, so that another may play at once, and frees the
// data folder. Everything that plays must have stopped before. After Lost it
// frees the folder alone. A release that fails only makes others wait for the
// lease to run out. Only the first call does anything.
func (l *Lease) Release(ctx context.Context) error {
	var err error
	l.release.Do(func() {
		l.stop()
		<-l.stopped
		if l.Err() == nil {
			err = l.giveUp(ctx)
		}
		err = errors.Join(err, l.folder.close())
	})
	return err
}

func (l *Lease) giveUp(ctx context.Context) error {
	_, err := l.handle(ctx, func(p arena.Player) ([]arena.Event, error) {
		return p.Release(l.folder.id, l.generation)
	})
	if err != nil {
		return fmt.Errorf("release the lease: %w", err)
	}
	return nil
}

func (l *Lease) handle(ctx context.Context, decide func(arena.Player) ([]arena.Event, error)) (arena.Player, error) {
	p, _, err := kind.Handle(ctx, l.log, arena.PlayerStream, arena.Player{}, l.metadata(), decide)
	return p, err
}

func (l *Lease) metadata() eventstore.Metadata {
	return eventstore.Metadata{At: time.Now(), Correlation: l.folder.id}
}
