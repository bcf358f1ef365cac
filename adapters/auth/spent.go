package auth

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// spentFor is how long the log keeps a spent signature. It is of use from 5
// minutes before its timestamp to 5 after; the rest is for clocks that differ.
const spentFor = 2*maxSkew + time.Minute

// What is kept in memory at most: accounts, signatures of one, signatures of
// all. An account that spends more than spentMax within spentFor is refused
// for a while; whoever keeps to the rate limit stays far below.
const (
	ledgerOwners = 4096
	spentMax     = 10_000
	ledgerMax    = 1 << 18
)

// spendTries bounds how often spend goes on after another process was faster.
const spendTries = 20

// spentHash is the hash of a key id and a signed message.
type spentHash [sha256.Size]byte

// ledger knows which signatures have been spent: what it has stored or read is
// kept, and what peers have stored since is found by the append's exact
// revision. It is safe for concurrent use.
type ledger struct {
	log eventstore.Log

	mu      sync.Mutex // guards what follows
	windows map[string]*window
	recent  *list.List // of *window, the most recently used first
	total   int        // signatures in all windows, as of their last release
}

// window is what one account has spent lately. The fields of the first group
// are guarded by ledger.mu, the others belong to whoever holds busy.
type window struct {
	ownerID string
	at      *list.Element
	users   int // calls that hold it; it is not dropped meanwhile
	counted int // of total

	busy     chan struct{}
	loaded   bool
	behind   bool                // others have stored more, or may have
	expected eventstore.Expected // of the next append
	spent    map[spentHash]bool
	order    []spending // the same, as they were stored
	floor    time.Time  // what was signed up to then may be forgotten, and is refused
}

// spending is a spent signature, and when that was: by the writer's clock, and
// by the steady one of this process, which no jump of a clock moves.
type spending struct {
	hash spentHash
	at   time.Time
	seen time.Time
}

func newLedger(log eventstore.Log) *ledger {
	return &ledger{log: log, windows: map[string]*window{}, recent: list.New()}
}

// spend stores that a signature was spent, and returns owner.ErrUnauthenticated
// if it was before: by this process, by one before it, or by a peer. Signed is
// its timestamp, m.At is now. After any other error it may have been stored.
func (l *ledger) spend(ctx context.Context, ownerID string, hash spentHash, signed time.Time, m eventstore.Metadata) error {
	event, err := eventstore.Encode(owner.SignatureSpent{Signature: hex.EncodeToString(hash[:])}, m)
	if err != nil {
		return err
	}
	w := l.use(ownerID)
	defer l.release(w)
	select {
	case w.busy <- struct{}{}:
		defer func() { <-w.busy }()
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", w.stream(), ctx.Err())
	}
	for try := 1; ; try++ {
		if err := l.refresh(ctx, w); err != nil {
			return err
		}
		w.forget(m.At)
		if w.refuses(hash, signed) {
			return owner.ErrUnauthenticated
		}
		appended, err := l.log.Append(ctx, w.stream(), w.expected, event)
		var wrong *eventstore.WrongVersionError
		switch {
		case err == nil:
			w.expected = eventstore.At(appended.Revision)
			w.add(hash, m.At)
			return nil
		case errors.As(err, &wrong) && try < spendTries:
			if err := l.conflict(ctx, w, wrong.Current); err != nil {
				return err
			}
		default:
			w.behind = true
			return fmt.Errorf("append to %s: %w", w.stream(), err)
		}
	}
}

// refuses says whether a signature was spent, or may have been.
func (w *window) refuses(hash spentHash, signed time.Time) bool {
	return w.spent[hash] || !signed.After(w.floor)
}

func (w *window) add(hash spentHash, at time.Time) {
	if w.spent[hash] {
		return
	}
	w.spent[hash] = true
	w.order = append(w.order, spending{hash: hash, at: at, seen: time.Now()})
}

// forget drops what is too old to be accepted again, by every clock, and what
// is too many. Should a clock be set back later, floor refuses what was
// dropped: a jump never opens the window anew.
func (w *window) forget(now time.Time) {
	n := max(0, len(w.order)-spentMax)
	for n < len(w.order) && now.Sub(w.order[n].at) > spentFor && time.Since(w.order[n].seen) > spentFor {
		n++
	}
	for _, s := range w.order[:n] {
		delete(w.spent, s.hash)
		w.raise(s.at)
	}
	w.order = slices.Delete(w.order, 0, n)
}

// raise refuses, from now on, all that may have been spent up to a time.
func (w *window) raise(spentAt time.Time) {
	if latest := spentAt.Add(maxSkew); latest.After(w.floor) {
		w.floor = latest
	}
}

func (w *window) stream() eventstore.StreamID {
	return eventstore.StreamID(owner.SignaturesStream(w.ownerID))
}

// use returns the window of an account and holds it until release.
func (l *ledger) use(ownerID string) *window {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.windows[ownerID]
	if ok {
		l.recent.MoveToFront(w.at)
	} else {
		w = &window{ownerID: ownerID, busy: make(chan struct{}, 1), spent: map[spentHash]bool{}}
		w.at = l.recent.PushFront(w)
		l.windows[ownerID] = w
	}
	w.users++
	return w
}

// release lets a window go, and drops the ones that are too many: the log
// still has what they held.
func (l *ledger) release(w *window) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.users--
	if w.users == 0 {
		l.total += len(w.order) - w.counted
		w.counted = len(w.order)
	}
	for at := l.recent.Back(); at != nil && (len(l.windows) > ledgerOwners || l.total > ledgerMax); {
		oldest := at.Value.(*window)
		at = at.Prev()
		if oldest.users == 0 {
			delete(l.windows, oldest.ownerID)
			l.recent.Remove(oldest.at)
			l.total -= oldest.counted
		}
	}
}
