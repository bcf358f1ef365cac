package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"hexarena/eventstore"
)

// checkpointEvery is the number of consecutive events that the filter leaves out
// before a subscription yields a checkpoint. It is the number that esdb asks for.
const checkpointEvery = 256

// Subscribe yields the stored events and then new ones. See eventstore.Log. It
// runs in the subscriber's goroutine, so a slow subscriber delays only itself.
func (l *Log) Subscribe(ctx context.Context, after eventstore.Position, filter eventstore.Filter) iter.Seq2[eventstore.Message, error] {
	return func(yield func(eventstore.Message, error) bool) {
		sub := &subscription{filter: filter, yield: yield}
		if err := l.start(sub, after); err != nil {
			yield(eventstore.Message{}, err)
			return
		}
		for caughtUp := false; ; {
			events, err := l.since(sub, caughtUp)
			if err != nil {
				yield(eventstore.Message{}, err)
				return
			}
			if !sub.deliver(ctx, events) {
				return
			}
			switch {
			case len(events) > 0:
			case !caughtUp:
				caughtUp = true
				if !sub.checkpoint() || !yield(eventstore.Message{CaughtUp: true}, nil) {
					return
				}
			default:
				select {
				case <-sub.woken:
				case <-ctx.Done():
					l.leave(sub)
					return
				}
			}
		}
	}
}

// start sets the first event that a subscription examines.
func (l *Log) start(s *subscription, after eventstore.Position) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.next, err = l.after(after); err != nil {
		return fmt.Errorf("subscribe to $all: %w", err)
	}
	s.losses = len(l.losses)
	return nil
}

// The method since() returns the events that a subscription has not examined. If there
// are none and the parameter wait is true, the log wakes the subscription later. The
// method returns eventstore.ErrEventsLost if the log has lost an examined event.
func (l *Log) since(s *subscription, wait bool) ([]eventstore.Recorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.examined(s.next, s.losses) {
		return nil, fmt.Errorf("subscribe to $all: %w", eventstore.ErrEventsLost)
	}
	s.losses = len(l.losses)
	events := l.events[s.next:]
	if len(events) == 0 && wait {
		s.woken = make(chan struct{})
		l.waiting = append(l.waiting, s)
	}
	return events, nil
}

// leave removes a subscription that waits.
func (l *Log) leave(s *subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(other *subscription) bool { return other == s })
}

// wake wakes the subscriptions that must yield a message about the newest n events. The
// others examine these events without waking up, because most events concern only few of
// them. The caller holds l.mu.
func (l *Log) wake(n int) {
	events := l.events[len(l.events)-n:]
	l.waiting = slices.DeleteFunc(l.waiting, func(s *subscription) bool {
		if s.passes(events) {
			return false
		}
		close(s.woken)
		return true
	})
}

// wakeAll wakes all subscriptions. The caller holds l.mu.
func (l *Log) wakeAll() {
	for _, s := range l.waiting {
		close(s.woken)
	}
	l.waiting = nil
}

// subscription holds the progress of one subscriber. While it waits, l.mu guards it.
type subscription struct {
	filter   eventstore.Filter
	next     int                 // index of the first event that the subscription has not examined
	losses   int                 // how often the log had lost events when the subscription last looked
	examined eventstore.Position // the subscription has examined all events up to this position
	skipped  int                 // events that the filter left out since the last message
	woken    chan struct{}       // closed to end a wait
	yield    func(eventstore.Message, error) bool
}

// passes examines events on behalf of a waiting subscription. It returns false, and changes
// nothing, if the subscription must yield a message about them.
func (s *subscription) passes(events []eventstore.Recorded) bool {
	if s.skipped+len(events) >= checkpointEvery {
		return false
	}
	for i := range events {
		if s.filter.Selects(events[i].Stream, events[i].Type) {
			return false
		}
	}
	s.next += len(events)
	s.skipped += len(events)
	s.examined = events[len(events)-1].Position
	return true
}

// deliver yields the events that the filter selects. It reports whether the
// subscription continues.
func (s *subscription) deliver(ctx context.Context, events []eventstore.Recorded) bool {
	for i := range events {
		if ctx.Err() != nil {
			return false
		}
		s.next++
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
