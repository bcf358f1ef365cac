package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind is what Load and Handle must know of one kind of stream: how its events
// decode and how a state S evolves by them. Decode and Evolve are those of the
// domain package that owns the stream.
type Kind[S any, E Typed] struct {
	Decode func(eventType string, data []byte) (E, error)
	Evolve func(state S, event E, at time.Time) S
}

// Fold returns state as it is after r.
func (k Kind[S, E]) Fold(state S, r Recorded) (S, error) {
	e, err := k.Decode(r.Type, r.Data)
	if err != nil {
		return state, fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
	}
	m, err := DecodeMetadata(r)
	if err != nil {
		return state, err
	}
	return k.Evolve(state, e, m.At), nil
}

// Load folds a whole stream onto zero, and says what an append must expect. A
// stream whose events have all expired reads as one that does not exist: an
// append at NoStream then fails with a *WrongVersionError whose Current is what
// to expect, which Handle does.
func (k Kind[S, E]) Load(ctx context.Context, log Log, id StreamID, zero S) (S, Expected, error) {
	state, expected := zero, NoStream
	for r, err := range log.Read(ctx, id, 0, ReadOptions{}) {
		if err != nil {
			return zero, NoStream, fmt.Errorf("read %s: %w", id, err)
		}
		if state, err = k.Fold(state, r); err != nil {
			return zero, NoStream, err
		}
		expected = At(r.Revision)
	}
	return state, expected, nil
}

// handleTries bounds how often Handle decides anew when others write the same
// stream at once.
const handleTries = 20

// Handle loads a stream, decides on its state, and appends what was decided at
// the exact revision that was folded; when another writer was faster it
// decides anew. It returns the state after the append and the position of what
// was appended, which a projection can be waited for; deciding on nothing
// appends nothing, at position 0. An error of decide is returned as it is.
func (k Kind[S, E]) Handle(ctx context.Context, log Log, id StreamID, zero S, m Metadata, decide func(S) ([]E, error)) (S, Position, error) {
	// What to expect of a stream that loads empty: it may be one whose events
	// have expired. Whatever was stored since the load makes a conflict again.
	expired := NoStream
	for try := 1; ; try++ {
		state, expected, err := k.Load(ctx, log, id, zero)
		if err != nil {
			return zero, 0, err
		}
		if expected == NoStream {
			expected = expired
		}
		events, err := decide(state)
		if err != nil || len(events) == 0 {
			return state, 0, err
		}
		encoded, err := EncodeAll(events, m)
		if err != nil {
			return state, 0, err
		}
		appended, err := log.Append(ctx, id, expected, encoded...)
		var wrong *WrongVersionError
		if errors.As(err, &wrong) && try < handleTries {
			expired = wrong.Current
			continue
		}
		if err != nil {
			return state, 0, fmt.Errorf("append to %s: %w", id, err)
		}
		for _, e := range events {
			state = k.Evolve(state, e, m.At.UTC().Truncate(time.Millisecond))
		}
		return state, appended.Position, nil
	}
}
