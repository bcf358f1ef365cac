package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// spentFor is how long the log keeps a spent signature. A signature is accepted from 5
// minutes before its timestamp until 5 minutes after it. The extra minute allows for
// differences between clocks.
const spentFor = 2*maxSkew + time.Minute

// These constants limit a ledger's memory. If an account spends more than spentMax
// signatures within spentFor, its writes are rejected for a while. The API's rate limit
// keeps accounts far below spentMax.
const (
	spentMax     = 10_000  // signatures of one account
	ledgerMax    = 1 << 18 // signatures of all accounts
	windowWeight = 64      // an account in memory takes as much space as this many signatures
)

// spendTries is the maximum number of times that spend tries to append while other
// processes keep appending first.
const spendTries = 20

// spentHash is the hash of a key id and a signed message.
type spentHash [sha256.Size]byte

// ledger records which signatures have been spent. It caches the signatures
// that it stored or read. It appends at the last revision that it has read. If
// another process has appended since then, the append fails, and the ledger
// reads the new events. It is safe for concurrent use.
type ledger struct {
	log     eventstore.Log
	windows *eventstore.Cache[window]
}

// window contains the signatures that one account spent recently. The goroutine that
// has acquired the semaphore busy owns the fields below it.
type window struct {
	stream eventstore.StreamID
	busy   *semaphore.Weighted

	loaded   bool
	behind   bool                // true if the stream may contain events that are missing from the window
	expected eventstore.Expected // the expected revision of the next append
	spent    map[spentHash]bool
	order    []spending // the same signatures, in stored order
	floor    time.Time  // signatures up to this time are rejected, because the window may have dropped their records
}

// The type spending describes a spent signature.
type spending struct {
	hash spentHash
	at   time.Time // when the signature was stored, from the wall clock of the process that stored it
	seen time.Time // when this process stored or read the signature, from its monotonic clock, which never jumps
}

func newLedger(log eventstore.Log) *ledger {
	return &ledger{log: log, windows: eventstore.NewCache(ledgerMax, newWindow, (*window).weight)}
}

func newWindow(stream eventstore.StreamID) *window {
	return &window{stream: stream, busy: semaphore.NewWeighted(1), spent: map[spentHash]bool{}}
}

func (w *window) weight() int { return windowWeight + len(w.order) }

// spend records a signature as spent. If any process on the same log has already spent
// the signature, the error is owner.ErrUnauthenticated. The parameter signed is the
// timestamp of the signature, and m.At is the current time. After any other error, the
// signature may have been stored.
func (l *ledger) spend(ctx context.Context, ownerID string, hash spentHash, signed time.Time, m eventstore.Metadata) error {
	event, err := eventstore.Encode(owner.SignatureSpent{Signature: hex.EncodeToString(hash[:])}, m)
	if err != nil {
		return err
	}
	w, release := l.windows.Use(eventstore.StreamID(owner.SignaturesStream(ownerID)))
	defer release()
	if err := w.busy.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for %s: %w", w.stream, err)
	}
	defer w.busy.Release(1)
	for try := 1; ; try++ {
		if err := l.refresh(ctx, w); err != nil {
			return err
		}
		w.forget(m.At)
		if w.rejects(hash, signed) {
			return owner.ErrUnauthenticated
		}
		appended, err := l.log.Append(ctx, w.stream, w.expected, event)
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
			return fmt.Errorf("append to %s: %w", w.stream, err)
		}
	}
}

// The method rejects() reports whether the window must reject a signature, because it
// was or may have been spent.
func (w *window) rejects(hash spentHash, signed time.Time) bool {
	return w.spent[hash] || !signed.After(w.floor)
}

func (w *window) add(hash spentHash, at time.Time) {
	if w.spent[hash] {
		return
	}
	w.spent[hash] = true
	w.order = append(w.order, spending{hash: hash, at: at, seen: time.Now()})
}

// forget drops signatures that are too old by both the wall clock and the monotonic
// clock. It also drops the oldest signatures if there are more than spentMax. It raises
// the field floor, so that the dropped signatures are rejected even if the wall clock
// is set back later.
func (w *window) forget(now time.Time) {
	n := max(0, len(w.order)-spentMax)
	for n < len(w.order) && now.Sub(w.order[n].at) > spentFor && time.Since(w.order[n].seen) > spentFor {
		n++
	}
	for _, s := range w.order[:n] {
		delete(w.spent, s.hash)
		w.raiseFloor(s.at)
	}
	w.order = slices.Delete(w.order, 0, n)
}

// raiseFloor makes the window reject every signature that may have been spent up
// to a time.
func (w *window) raiseFloor(spentAt time.Time) {
	if latest := spentAt.Add(maxSkew); latest.After(w.floor) {
		w.floor = latest
	}
}
