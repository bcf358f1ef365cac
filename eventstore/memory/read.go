package memory

import (
	"context"
	"fmt"
	"iter"
	"time"

	"hexarena/eventstore"
)

// Read yields the events that the stream had when the read began. See
// eventstore.Log.
func (l *Log) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		events, err := l.page(id, from, opt.Direction)
		if err != nil {
			yield(eventstore.Recorded{}, err)
			return
		}
		deliver(ctx, events, opt, yield)
	}
}

// page returns the events that a read of a stream would yield without a limit, in
// ascending order. Stored events never change, so the caller may read them without
// the lock.
func (l *Log) page(id eventstore.StreamID, from eventstore.Revision, d eventstore.Direction) ([]eventstore.Recorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streams[id]
	if s == nil {
		return nil, nil
	}
	if s.tombstone {
		return nil, fmt.Errorf("read %s: %w", id, eventstore.ErrStreamDeleted)
	}
	first, end := s.oldest(), len(s.events)
	if d == eventstore.Forwards {
		first = max(first, int(min(from, eventstore.Revision(end))))
	} else if from < eventstore.Revision(end) {
		end = int(from) + 1
	}
	return s.events[min(first, end):end], nil
}

// oldest returns the first revision that the stream's metadata does not hide. The
// caller holds the lock of the log.
func (s *stream) oldest() int {
	m := s.metadata
	if m == nil {
		return 0
	}
	first := 0
	if m.MaxCount > 0 && uint64(len(s.events)) > m.MaxCount {
		first = len(s.events) - int(m.MaxCount)
	}
	if m.MaxAge > 0 {
		since := time.Now().Add(-m.MaxAge)
		for first < len(s.events) && s.events[first].Created.Before(since) {
			first++
		}
	}
	return first
}

// ReadAll yields the events that the log had when the read began. See
// eventstore.Log.
func (l *Log) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		events, err := l.from(from, opt.Direction)
		if err != nil {
			yield(eventstore.Recorded{}, err)
			return
		}
		deliver(ctx, events, opt, yield)
	}
}

// The method from() returns the events that a read from a position yields. A forward
// read includes the event at the position, and a backward read excludes it.
func (l *Log) from(p eventstore.Position, d eventstore.Direction) ([]eventstore.Recorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, err := l.after(p)
	if err != nil {
		return nil, fmt.Errorf("read $all: %w", err)
	}
	if i > 0 && l.events[i-1].Position == p {
		i--
	}
	if d == eventstore.Forwards {
		return l.events[i:], nil
	}
	return l.events[:i], nil
}

// deliver yields events. The parameter opt sets their direction and their maximum
// number. If the context ends first, deliver yields the context's error last. If the
// context has already ended, even a read of no events fails, as it would over a
// network.
func deliver(ctx context.Context, events []eventstore.Recorded, opt eventstore.ReadOptions, yield func(eventstore.Recorded, error) bool) {
	n := len(events)
	if opt.Limit > 0 {
		n = min(n, opt.Limit)
	}
	for i := 0; ; i++ {
		if err := ctx.Err(); err != nil && (i == 0 || i < n) {
			yield(eventstore.Recorded{}, fmt.Errorf("read: %w", err))
			return
		}
		if i == n {
			return
		}
		at := i
		if opt.Direction == eventstore.Backwards {
			at = len(events) - 1 - i
		}
		if !yield(events[at], nil) {
			return
		}
	}
}
