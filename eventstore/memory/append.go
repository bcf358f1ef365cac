package memory

import (
	"github.com/google/uuid"

	"hexarena/eventstore"
)

// verdict is what becomes of an append.
type verdict int

const (
	fresh   verdict = iota // to be stored
	stored                 // a retry of what is there already
	refused                // the stream is at another revision
)

// current is what an append would have to expect exactly.
func (s *stream) current() eventstore.Expected {
	return eventstore.Expected(len(s.events) - 1)
}

// fits says whether the stream is as expected. A stream that has nothing but
// metadata exists.
func (s *stream) fits(expected eventstore.Expected) bool {
	switch expected {
	case eventstore.Any:
		return true
	case eventstore.Exists:
		return len(s.events) > 0 || s.metadata != nil
	}
	return expected == s.current()
}

// judge says what becomes of an append and, of a retry, the revision of its
// last event. An exact expectation (NoStream is one) that lies behind the
// stream is a retry if the ids are those that follow it there. Without one, the
// first id decides: where it is known the others must be too, in this order.
func (s *stream) judge(expected eventstore.Expected, events []eventstore.Event, idAt func(int) uuid.UUID) (int, verdict) {
	if expected == eventstore.Any || expected == eventstore.Exists {
		if _, known := s.ids[events[0].ID]; known {
			return s.known(events)
		}
	} else if expected < s.current() {
		return s.follows(int(expected), events, idAt)
	}
	if !s.fits(expected) {
		return 0, refused
	}
	return 0, fresh
}

// follows judges a retry that expects the revision before.
func (s *stream) follows(before int, events []eventstore.Event, idAt func(int) uuid.UUID) (int, verdict) {
	last := before + len(events)
	if last >= len(s.events) {
		return 0, refused
	}
	for i, e := range events {
		if idAt(s.events[before+1+i]) != e.ID {
			return 0, refused
		}
	}
	return last, stored
}

// known judges a retry by its ids alone.
func (s *stream) known(events []eventstore.Event) (int, verdict) {
	last := -1
	for _, e := range events {
		revision, known := s.ids[e.ID]
		if !known || revision <= last {
			return 0, refused
		}
		last = revision
	}
	return last, stored
}
