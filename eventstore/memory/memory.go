// Package memory implements eventstore.Log in memory, for simulation and fast
// tests. It handles expected revisions, idempotent retries, expiry, and gaps
// between positions the way EventStoreDB does. It is always available and uses
// neither disks nor networks. It starts no goroutines, so a Log that is created in
// a testing/synctest bubble runs on the bubble's clock.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore"
)

// Log is an eventstore.Log in memory. The zero value is not usable; call New
// instead.
type Log struct {
	mu      sync.Mutex
	events  []eventstore.Recorded // all except system events, by position
	head    eventstore.Position   // end of the log, including system events
	streams map[eventstore.StreamID]*stream
	waiting []*subscription // in the order in which they began to wait
	losses  []int           // for each loss, the number of events that were kept
}

var _ eventstore.Log = (*Log)(nil)

// stream is the state of one stream.
type stream struct {
	events    []eventstore.Recorded // by revision
	ids       map[uuid.UUID]int     // first revisions by event id
	metadata  *eventstore.StreamMetadata
	tombstone bool
}

// New returns an empty log.
func New() *Log {
	return &Log{streams: make(map[eventstore.StreamID]*stream)}
}

// Append stores events. See eventstore.Log.
func (l *Log) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	if err := eventstore.CheckAppend(id, expected, events); err != nil {
		return eventstore.Appended{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.writable(ctx, "append to", id)
	if err != nil {
		return eventstore.Appended{}, err
	}
	last, outcome := s.check(expected, events)
	switch outcome {
	case conflict:
		return eventstore.Appended{}, &eventstore.WrongVersionError{Stream: id, Expected: expected, Current: s.current()}
	case toStore:
		l.store(id, s, events)
		last = len(s.events) - 1
	}
	return eventstore.Appended{Revision: eventstore.Revision(last), Position: s.events[last].Position}, nil
}

// store appends events to a stream and wakes the subscribers. The caller holds l.mu.
func (l *Log) store(id eventstore.StreamID, s *stream, events []eventstore.Event) {
	now := time.Now().UTC()
	for _, e := range events {
		e.Data, e.Metadata = slices.Clone(e.Data), slices.Clone(e.Metadata)
		revision := len(s.events)
		stored := eventstore.Recorded{
			Event:    e,
			Stream:   id,
			Revision: eventstore.Revision(revision),
			Position: l.advance(e.Bytes()),
			Created:  now,
		}
		if _, known := s.ids[e.ID]; !known {
			s.ids[e.ID] = revision
		}
		s.events = append(s.events, stored)
		l.events = append(l.events, stored)
	}
	l.wake(len(events))
}

// advance moves the head past a record of n bytes and returns the position of the
// record. Positions have gaps, as they do in a log on disk, so tests reveal callers
// that compute positions. The caller holds l.mu.
func (l *Log) advance(n int) eventstore.Position {
	const header = 32
	position := l.head + 1
	l.head += header + eventstore.Position(n)
	return position
}

// SetMetadata replaces a stream's metadata. See eventstore.Log.
func (l *Log) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) error {
	if err := errors.Join(eventstore.CheckStream(id, eventstore.Any), m.Check()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.writable(ctx, "set metadata of", id)
	if err != nil {
		return err
	}
	s.metadata = &m
	l.advance(0)
	return nil
}

// Tombstone deletes a stream forever. See eventstore.Log.
func (l *Log) Tombstone(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected) error {
	if err := eventstore.CheckStream(id, expected); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.writable(ctx, "tombstone", id)
	if err != nil {
		return err
	}
	if !s.fits(expected) {
		return &eventstore.WrongVersionError{Stream: id, Expected: expected, Current: s.current()}
	}
	s.tombstone = true
	l.advance(0)
	return nil
}

// writable returns a stream that is not tombstoned. It creates the stream if it does
// not exist. The caller holds l.mu.
func (l *Log) writable(ctx context.Context, what string, id eventstore.StreamID) (*stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, id, err)
	}
	s := l.streams[id]
	if s == nil {
		s = &stream{ids: make(map[uuid.UUID]int)}
		l.streams[id] = s
	}
	if s.tombstone {
		return nil, fmt.Errorf("%s %s: %w", what, id, eventstore.ErrStreamDeleted)
	}
	return s, nil
}

// The method after() returns the index of the first event after a position. It
// returns an error for a position inside the log at which there is no event. The
// caller holds l.mu.
func (l *Log) after(p eventstore.Position) (int, error) {
	i, found := slices.BinarySearchFunc(l.events, p, func(r eventstore.Recorded, p eventstore.Position) int {
		return cmp.Compare(r.Position, p)
	})
	switch {
	case found:
		return i + 1, nil
	case p == 0 || p > l.head:
		return i, nil
	}
	return 0, fmt.Errorf("no event is at position %d", p)
}
