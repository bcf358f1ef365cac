package memory

import "hexarena/eventstore"

// outcome is the outcome of an append.
type outcome int

const (
	toStore       outcome = iota // the events are new
	alreadyStored                // the append is a retry of stored events
	conflict                     // the stream is at a different revision
)

// current returns the stream's current revision in the form that an append expects.
func (s *stream) current() eventstore.Expected {
	return eventstore.Expected(len(s.events) - 1)
}

// The method fits() reports whether the stream is in the expected state. As in
// EventStoreDB, a stream that has only metadata exists.
func (s *stream) fits(expected eventstore.Expected) bool {
	switch expected {
	case eventstore.Any:
		return true
	case eventstore.Exists:
		return len(s.events) > 0 || s.metadata != nil
	}
	return expected == s.current()
}

// check returns the outcome of an append. For a retry, it also returns the revision of
// the last event.
//
// An append that expects NoStream or a revision below the current one is a retry if
// the same ids follow that revision in the stream. An append that expects Any or
// Exists is a retry if its first id is in the stream. In that case, its other ids
// must also be in the stream, in any order. If an id is in the stream more than once,
// its first revision counts.
func (s *stream) check(expected eventstore.Expected, events []eventstore.Event) (int, outcome) {
	if expected == eventstore.Any || expected == eventstore.Exists {
		if _, known := s.ids[events[0].ID]; known {
			return s.checkKnown(events)
		}
	} else if expected < s.current() {
		return s.checkBehind(int(expected), events)
	}
	if !s.fits(expected) {
		return 0, conflict
	}
	return 0, toStore
}

// checkBehind checks an append that expects a revision below the current one.
func (s *stream) checkBehind(before int, events []eventstore.Event) (int, outcome) {
	last := before + len(events)
	if last >= len(s.events) {
		return 0, conflict
	}
	for i, e := range events {
		if s.events[before+1+i].ID != e.ID {
			return 0, conflict
		}
	}
	return last, alreadyStored
}

// checkKnown checks an append whose first id is in the stream.
func (s *stream) checkKnown(events []eventstore.Event) (int, outcome) {
	last := -1
	for _, e := range events {
		revision, known := s.ids[e.ID]
		if !known {
			return 0, conflict
		}
		last = revision
	}
	return last, alreadyStored
}
