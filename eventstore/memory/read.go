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
		events, err := l.page(id, from, opt)
		if err != nil {
			yield(eventstore.Recorded{}, err)
			return
		}
		deliver(ctx, events, opt, yield)
	}
}

// page returns copies of the events that a read of a stream yields, in ascending
// order.
func (l *Log) page(id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) ([]eventstore.Recorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streams[id]
	if s == nil {
		return nil, nil
	}
	if s.tombstone {
		return nil, fmt.Errorf("read %s: %w", id, eventstore.ErrStreamDeleted)
	}
	first, end := l.oldest(s), len(s.events)
	if opt.Direction == eventstore.Forwards {
		first = max(first, int(min(from, eventstore.Revision(end))))
	} else if from < eventstore.Revision(end) {
		end = int(from) + 1
	}
	if n := end - first; opt.Limit > 0 && n > opt.Limit {
		if opt.Direction == eventstore.Forwards {
			end = first + opt.Limit
		} else {
			first = end - opt.Limit
		}
	}
	events := make([]eventstore.Recorded, 0, max(0, end-first))
	for revision := first; revision < end; revision++ {
		events = append(events, l.events[s.events[revision]])
	}
	return events, nil
}

// oldest returns the first revision that the stream's metadata does not hide.
// The caller holds l.mu.
func (l *Log) oldest(s *stream) int {
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
		for first < len(s.events) && l.events[s.events[first]].Created.Before(since) {
			first++
		}
	}
	return first
}

// ReadAll yields the events that the log had when the read began. See
// eventstore.Log.
func (l *Log) ReadAll(ctx context.Context, from eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		l.mu.Lock()
		events, err := l.from(from, opt.Direction)
		l.mu.Unlock()
		if err != nil {
			yield(eventstore.Recorded{}, err)
			return
		}
		deliver(ctx, events, opt, yield)
	}
}

// from returns the events that a read from a position yields: inclusive forwards,
// exclusive backwards. The caller holds l.mu. Stored events never change, so it may
// read the slice after it releases the lock.
func (l *Log) from(p eventstore.Position, d eventstore.Direction) ([]eventstore.Recorded, error) {
	if p > l.head {
		if d == eventstore.Forwards {
			return nil, nil
		}
		return l.events, nil
	}
	i := l.after(p)
	if p == 0 {
		if d == eventstore.Forwards {
			return l.events, nil
		}
		return nil, nil
	}
	if i == 0 || l.events[i-1].Position != p {
		return nil, fmt.Errorf("read $all: no event is at position %d", p)
	}
	if d == eventstore.Forwards {
		return l.events[i-1:], nil
	}
	return l.events[:i-1], nil
}

// deliver yields events in the direction and up to the limit of opt. If the context
// ends first, it yields the context's error last. A read of no events fails with
// an ended context too, as it does over a network.
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
