package memory

import (
	"context"
	"fmt"
	"iter"

	"hexarena/eventstore"
)

// checkpointEvery is how many events in a row that the filter leaves out make
// a checkpoint.
const checkpointEvery = 32

// Subscribe yields what is stored and then what comes; see eventstore.Log. The
// caller's goroutine does the work: a subscriber that is slow holds nobody up.
func (l *Log) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		start, err := l.start(after)
		if err != nil {
			yield(eventstore.Message{}, err)
			return
		}
		sub := subscription{filter: filter, after: start, yield: yield}
		for caughtUp := false; ; {
			events, grown := l.beyond(sub.after)
			if !sub.deliver(ctx, events) {
				return
			}
			if len(events) == 0 && !caughtUp {
				caughtUp = true
				if !sub.checkpoint() || !yield(eventstore.Message{CaughtUp: true}, nil) {
					return
				}
			}
			if len(events) > 0 {
				continue
			}
			select {
			case <-grown:
			case <-ctx.Done():
				return
			}
		}
	}
}

// start returns the position to begin after: the head for what lies beyond it.
// A position inside the log that is no event's is refused.
func (l *Log) start(p eventstore.Position) (eventstore.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.after(p)
	if p == 0 || p > l.head || i > 0 && l.events[i-1].Position == p {
		return min(p, l.head), nil
	}
	return 0, fmt.Errorf("subscribe to $all: position %d is no event's", p)
}

// beyond returns the events after a position, and what is closed when there
// are more.
func (l *Log) beyond(p eventstore.Position) ([]eventstore.Recorded, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[l.after(p):], l.grown
}

// subscription is how far one subscriber has come.
type subscription struct {
	filter  eventstore.Filter
	after   eventstore.Position // everything up to here was considered
	skipped int                 // events left out since the last message
	yield   func(eventstore.Message, error) bool
}

// deliver yields those of the events that the filter selects, and says whether
// to go on.
func (s *subscription) deliver(ctx context.Context, events []eventstore.Recorded) bool {
	for i := range events {
		if ctx.Err() != nil {
			return false
		}
		s.after = events[i].Position
		if s.filter.Selects(events[i].Stream, events[i].Type) {
			s.skipped = 0
			event := events[i]
			if !s.yield(eventstore.Message{Event: &event}, nil) {
				return false
			}
			continue
		}
		s.skipped++
		if s.skipped == checkpointEvery && !s.checkpoint() {
			return false
		}
	}
	return ctx.Err() == nil
}

// checkpoint yields how far was considered, where that is news.
func (s *subscription) checkpoint() bool {
	if s.skipped == 0 {
		return true
	}
	s.skipped = 0
	return s.yield(eventstore.Message{Checkpoint: s.after}, nil)
}
