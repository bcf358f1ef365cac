package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind describes one kind of stream: how its events are decoded, and how they
// change a state S. Decode and Evolve come from the domain package that owns
// the stream.
//
// Handle is the complete loop of load, decide, append and retry. A caller that
// keeps the folded state itself uses Fold and Append instead.
type Kind[S any, E Typed] struct {
	Decode func(eventType string, data []byte) (E, error)
	Evolve func(state S, event E, at time.Time) S
}

// Fold returns the state after the event r.
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

// Load folds a whole stream, starting with the state zero. It returns the state
// and the revision that an append must expect. If all events of a stream have
// expired, Load returns NoStream, as it does for a stream that does not exist.
// An append at NoStream then fails with a *WrongVersionError whose Current is
// the revision to expect. Handle deals with this case.
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

// Append encodes the events, appends them to the stream, and returns the state
// after these events. If the append fails, Append returns the state unchanged.
func (k Kind[S, E]) Append(ctx context.Context, log Log, id StreamID, expected Expected, m Metadata, state S, events []E) (S, Appended, error) {
	encoded, err := EncodeAll(events, m)
	if err != nil {
		return state, Appended{}, err
	}
	appended, err := log.Append(ctx, id, expected, encoded...)
	if err != nil {
		return state, Appended{}, fmt.Errorf("append to %s: %w", id, err)
	}
	at := m.At.UTC().Truncate(time.Millisecond) // rounded as in Encode, so that Load returns the same state
	for _, e := range events {
		state = k.Evolve(state, e, at)
	}
	return state, appended, nil
}

// handleTries limits how often Handle tries again because other writers append to
// the same stream.
const handleTries = 20

// Handle loads a stream, calls the function decide with its state, and appends the
// returned events. The append expects the revision up to which the stream was loaded.
// If another writer appended first, Handle loads and decides again, so decide may be
// called more than once. If decide returns an error, Handle returns it unchanged.
//
// Handle returns the state after the append and the position of the last event.
// A caller can use this position to wait until a projection has reached it. If
// decide returns no events, Handle appends nothing and the position is 0.
func (k Kind[S, E]) Handle(ctx context.Context, log Log, id StreamID, zero S, m Metadata, decide func(S) ([]E, error)) (S, Position, error) {
	// If a stream appears empty when it is loaded, its events may have
	// expired. In that case, the conflict error contains the revision to
	// expect. Events that others append after the load still cause a new
	// conflict.
	empty := NoStream
	for try := 1; ; try++ {
		state, expected, err := k.Load(ctx, log, id, zero)
		if err != nil {
			return zero, 0, err
		}
		if expected == NoStream {
			expected = empty
		}
		events, err := decide(state)
		if err != nil || len(events) == 0 {
			return state, 0, err
		}
		state, appended, err := k.Append(ctx, log, id, expected, m, state, events)
		var wrong *WrongVersionError
		if !errors.As(err, &wrong) || try == handleTries {
			return state, appended.Position, err
		}
		empty = wrong.Current
	}
}
