package memory

import (
	"context"
	"fmt"
	"iter"

	"hexarena/eventstore"
)

// checkpointEvery is the number of consecutive events that the filter leaves out
// before a subscription yields a checkpoint.
const checkpointEvery = 32

// Subscribe yields the stored events and then new ones. See eventstore.Log. It
// runs in the subscriber's goroutine, so a slow subscriber delays only itself.
func (l *Log) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		next, losses, err := l.start(after)
		if err != nil {
			yield(eventstore.Message{}, err)
			return
		}
		sub := subscription{filter: filter, yield: yield}
		for caughtUp := false; ; {
			events, grown, err := l.since(next, losses)
			if err != nil {
				yield(eventstore.Message{}, err)
				return
			}
			next += len(events)
			if !sub.deliver(ctx, events) {
				return
			}
			if len(events) > 0 {
				continue
			}
			if !caughtUp {
				caughtUp = true
				if !sub.checkpoint() || !yield(eventstore.Message{CaughtUp: true}, nil) {
					return
				}
			}
			select {
			case <-grown:
			case <-ctx.Done():
				return
			}
		}
	}
}

// start returns the index of the first event to examine, and the number of losses.
func (l *Log) start(after eventstore.Position) (index, losses int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if index, err = l.after(after); err != nil {
		return 0, 0, fmt.Errorf("subscribe to $all: %w", err)
	}
	return index, len(l.losses), nil
}

// The method since() returns the events starting at an index, and a channel that
// closes when the log changes. It returns eventstore.ErrEventsLost if an event before the
// index was lost after the given number of losses.
func (l *Log) since(index, losses int) ([]eventstore.Recorded, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.examined(index, losses) {
		return nil, nil, fmt.Errorf("subscribe to $all: %w", eventstore.ErrEventsLost)
	}
	return l.events[index:], l.grown, nil
}

// subscription holds the progress of one subscriber.
type subscription struct {
	filter   eventstore.Filter
	examined eventstore.Position // the subscription has examined all events up to this position
	skipped  int                 // events that the filter left out since the last message
	yield    func(eventstore.Message, error) bool
}

// deliver yields the events that the filter selects. It reports whether the
// subscription continues.
func (s *subscription) deliver(ctx context.Context, events []eventstore.Recorded) bool {
	for i := range events {
		if ctx.Err() != nil {
			return false
		}
		s.examined = events[i].Position
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

// checkpoint yields the examined position if the subscriber has not received it
// yet.
func (s *subscription) checkpoint() bool {
	if s.skipped == 0 {
		return true
	}
	s.skipped = 0
	return s.yield(eventstore.Message{Checkpoint: s.examined}, nil)
}
