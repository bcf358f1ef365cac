package auth

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"hexarena/domain/owner"
	"hexarena/eventstore"
)

// refresh reads the stream if the window may be incomplete.
func (l *ledger) refresh(ctx context.Context, w *window) error {
	switch {
	case !w.loaded:
		return l.load(ctx, w)
	case w.behind:
		return l.catchUp(ctx, w)
	}
	return nil
}

// load reads the newest spentMax signatures of an account. If the stream is empty, load
// sets the maximum age of the stream's events before the first append. The stream is
// also empty if all its events have expired. In that case, load sets the same age
// again, which does no harm.
func (l *ledger) load(ctx context.Context, w *window) error {
	newest := eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: spentMax}
	var read []eventstore.Recorded
	for r, err := range l.log.Read(ctx, w.stream, eventstore.EndRevision, newest) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.stream, err)
		}
		read = append(read, r)
	}
	if len(read) == 0 {
		if err := l.log.SetMetadata(ctx, w.stream, eventstore.StreamMetadata{MaxAge: spentFor}); err != nil {
			return fmt.Errorf("set the metadata of %s: %w", w.stream, err)
		}
		w.expected = eventstore.NoStream
	}
	slices.Reverse(read)
	for i, r := range read {
		if err := w.fold(r); err != nil {
			return err
		}
		if i == 0 && len(read) == spentMax {
			w.raiseFloor(w.order[0].at)
		}
	}
	w.loaded, w.behind = true, false
	return nil
}

// catchUp reads the events that follow the last known revision.
func (l *ledger) catchUp(ctx context.Context, w *window) error {
	next := eventstore.Revision(0)
	if w.expected >= 0 {
		next = eventstore.Revision(w.expected) + 1
	}
	for r, err := range l.log.Read(ctx, w.stream, next, eventstore.ReadOptions{}) {
		if err != nil {
			w.behind = true
			return fmt.Errorf("read %s: %w", w.stream, err)
		}
		if err := w.fold(r); err != nil {
			return err
		}
	}
	w.behind = false
	return nil
}

// The method conflict() updates a window after an append failed because the stream had
// a different revision. It reads the events that other processes appended. If these
// events have already expired, the read returns nothing, and the method only updates
// the expected revision. If the stream's revision is lower than expected, the log was
// restored from a backup. In that case, the method loads the stream from scratch.
func (l *ledger) conflict(ctx context.Context, w *window, current eventstore.Expected) error {
	if current < w.expected {
		w.loaded = false
		return l.load(ctx, w)
	}
	if err := l.catchUp(ctx, w); err != nil {
		return err
	}
	w.expected = max(w.expected, current)
	return nil
}

// fold adds one recorded event to the window.
func (w *window) fold(r eventstore.Recorded) error {
	e, err := owner.Decode(r.Type, r.Data)
	if err != nil {
		return fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
	}
	m, err := eventstore.DecodeMetadata(r)
	if err != nil {
		return err
	}
	if e, ok := e.(owner.SignatureSpent); ok {
		hash, err := hex.DecodeString(e.Signature)
		if err != nil || len(hash) != len(spentHash{}) {
			return fmt.Errorf("%s@%d: %q is not the hash of a signature", r.Stream, r.Revision, e.Signature)
		}
		w.add(spentHash(hash), m.At)
	}
	w.expected = eventstore.At(r.Revision)
	return nil
}
