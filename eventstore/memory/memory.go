// Package memory implements the log's port in memory, for simulation and fast
// tests. It answers as EventStoreDB does: expected revisions, idempotent retries,
// expiry, and gaps between positions. It is always available and does not know
// disks or networks. It starts no goroutines, so a Log that is made in a
// testing/synctest bubble runs by the clock of the bubble.
package memory

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/google/uuid"

	"hexarena/eventstore"
)

// Log is an eventstore.Log in memory. The zero value is not usable: see New.
type Log struct {
	mu      sync.Mutex
	events  []eventstore.Recorded // all but system events, by position
	head    eventstore.Position   // end of the log, including system events
	streams map[eventstore.StreamID]*stream
	grown   chan struct{} // closed, and replaced, when events grows
}

var _ eventstore.Log = (*Log)(nil)

// stream is the state of one stream.
type stream struct {
	events    []int // indices into Log.events; the revision is the index here
	ids       map[uuid.UUID]int
	metadata  *eventstore.StreamMetadata
	tombstone bool
}

// New returns an empty log.
func New() *Log {
	return &Log{
		streams: make(map[eventstore.StreamID]*stream),
		grown:   make(chan struct{}),
	}
}

// Append stores events. See eventstore.Log.
func (l *Log) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	if err := eventstore.CheckAppend(id, expected, events); err != nil {
		return eventstore.Appended{}, err
	}
	if err := ctx.Err(); err != nil {
		return eventstore.Appended{}, fmt.Errorf("append to %s: %w", id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stream(id)
	if s.tombstone {
		return eventstore.Appended{}, fmt.Errorf("append to %s: %w", id, eventstore.ErrStreamDeleted)
	}
	last, outcome := s.check(expected, events, l.idAt)
	switch outcome {
	case conflict:
		return eventstore.Appended{}, &eventstore.WrongVersionError{Stream: id, Expected: expected, Current: s.current()}
	case alreadyStored:
		return l.appended(s, last), nil
	}
	l.store(id, s, events)
	return l.appended(s, len(s.events)-1), nil
}

// store appends to the log and wakes the subscribers. The caller holds l.mu.
func (l *Log) store(id eventstore.StreamID, s *stream, events []eventstore.Event) {
	now := time.Now().UTC()
	for _, e := range events {
		e.Data, e.Metadata = slices.Clone(e.Data), slices.Clone(e.Metadata)
		revision := len(s.events)
		s.ids[e.ID] = revision
		s.events = append(s.events, len(l.events))
		l.events = append(l.events, eventstore.Recorded{
			Event:    e,
			Stream:   id,
			Revision: eventstore.Revision(revision),
			Position: l.advance(eventstore.AppendBytes([]eventstore.Event{e})),
			Created:  now,
		})
	}
	close(l.grown)
	l.grown = make(chan struct{})
}

// advance moves the head past a record of n bytes and returns the position of the
// record. Positions have gaps, as in a log on a disk, so that tests find callers
// that compute positions. The caller holds l.mu.
func (l *Log) advance(n int) eventstore.Position {
	const header = 32
	position := l.head + 1
	l.head += header + eventstore.Position(n)
	return position
}

// SetMetadata replaces a stream's metadata. See eventstore.Log.
func (l *Log) SetMetadata(ctx context.Context, id eventstore.StreamID, m eventstore.StreamMetadata) error {
	if err := eventstore.CheckStream(id, eventstore.Any); err != nil {
		return err
	}
	if err := m.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("set metadata of %s: %w", id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stream(id)
	if s.tombstone {
		return fmt.Errorf("set metadata of %s: %w", id, eventstore.ErrStreamDeleted)
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
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("tombstone %s: %w", id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stream(id)
	if s.tombstone {
		return fmt.Errorf("tombstone %s: %w", id, eventstore.ErrStreamDeleted)
	}
	if !s.fits(expected) {
		return &eventstore.WrongVersionError{Stream: id, Expected: expected, Current: s.current()}
	}
	s.tombstone = true
	l.advance(0)
	return nil
}

// stream returns a stream and creates it if it does not exist. The caller holds
// l.mu.
func (l *Log) stream(id eventstore.StreamID) *stream {
	s := l.streams[id]
	if s == nil {
		s = &stream{ids: make(map[uuid.UUID]int)}
		l.streams[id] = s
	}
	return s
}

func (l *Log) idAt(index int) uuid.UUID { return l.events[index].ID }

func (l *Log) appended(s *stream, revision int) eventstore.Appended {
	return eventstore.Appended{
		Revision: eventstore.Revision(revision),
		Position: l.events[s.events[revision]].Position,
	}
}

// after returns the index of the first event after a position. The caller holds
// l.mu.
func (l *Log) after(p eventstore.Position) int {
	return sort.Search(len(l.events), func(i int) bool { return l.events[i].Position > p })
}
