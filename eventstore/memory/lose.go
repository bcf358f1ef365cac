package memory

import (
	"slices"

	"github.com/google/uuid"

	"hexarena/eventstore"
)

// Lose removes all events after a position, as a cluster may do when its leader changes.
// Later events may get the same positions and revisions. A subscription that has examined
// a lost event ends with eventstore.ErrEventsLost. Metadata and tombstones stay.
func (l *Log) Lose(after eventstore.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := slices.IndexFunc(l.events, func(r eventstore.Recorded) bool { return r.Position > after })
	if kept < 0 {
		return
	}
	for _, r := range l.events[kept:] {
		l.streams[r.Stream].lose(after)
	}
	l.events = l.events[:kept:kept] // later events must not change what readers still hold
	l.head = 0
	if kept > 0 {
		last := l.events[kept-1]
		l.head = last.Position - 1
		l.advance(last.Bytes())
	}
	l.losses = append(l.losses, kept)
	l.wakeAll()
}

// lose removes the events after a position.
func (s *stream) lose(after eventstore.Position) {
	n := len(s.events)
	for n > 0 && s.events[n-1].Position > after {
		n--
	}
	if n == len(s.events) {
		return
	}
	s.events = s.events[:n:n]
	s.ids = make(map[uuid.UUID]int, n)
	for i, r := range slices.Backward(s.events) {
		s.ids[r.ID] = i // the first revision counts
	}
}

// examined reports whether a subscription has examined an event that was lost after the
// given number of losses. The caller holds l.mu.
func (l *Log) examined(index, losses int) bool {
	return slices.ContainsFunc(l.losses[losses:], func(kept int) bool { return index > kept })
}
