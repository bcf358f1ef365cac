package esdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// Read yields a stream's events. See eventstore.Log. After an outage it
// continues after the last event that it yielded.
func (l *Log) Read(ctx context.Context, id eventstore.StreamID, start eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return l.metrics.read(func(yield func(eventstore.Recorded, error) bool) {
		what, next, left := fmt.Sprintf("read %s", id), start, opt.Limit
		each := func(e *es.RecordedEvent) bool {
			r := recorded(e)
			l.known.see(&r)
			left--
			last := left == 0
			if opt.Direction == eventstore.Forwards {
				next = r.Revision + 1
			} else {
				next, last = r.Revision-1, last || r.Revision == 0
			}
			return yield(r, nil) && !last
		}
		err := l.retry(ctx, what, func(losses int64) error {
			opts := es.ReadStreamOptions{Direction: direction(opt.Direction), From: streamPosition(next, opt.Direction)}
			size := count(left)
			return stream(ctx, l, losses, func(ctx context.Context, c *es.Client, emit func(*es.RecordedEvent) bool) error {
				events, err := c.ReadStream(ctx, string(id), opts, size)
				return drain(events, err, emit)
			}, each)
		})
		if err != nil {
			yield(eventstore.Recorded{}, translate(what, err))
		}
	})
}

// systemEvents is the number of extra events that a limited read of $all requests
// with each page, because some of the returned events may be system events. It is small,
// because an arena reads the last event of the log several times a second.
const systemEvents = 4

// ReadAll yields the events of all streams. See eventstore.Log. The server's
// limit also counts system events, which ReadAll leaves out. Therefore a
// limited read may need several pages.
func (l *Log) ReadAll(ctx context.Context, start eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return l.metrics.read(func(yield func(eventstore.Recorded, error) bool) {
		left := opt.Limit
		pageSize := func() uint64 {
			if left > 0 {
				return count(left) + systemEvents
			}
			return count(left)
		}
		for e, err := range l.stored(ctx, allPosition(start), direction(opt.Direction), pageSize) {
			switch {
			case err != nil:
				yield(eventstore.Recorded{}, err)
				return
			case system(e.EventType):
				continue
			}
			left--
			r := recorded(e)
			l.known.see(&r)
			if !yield(r, nil) || left == 0 {
				return
			}
		}
	})
}

// The method stored() yields the events of $all as they are stored, starting at a
// position and including system events. It requests one page after another. After
// an outage it continues after the last event that it yielded.
func (l *Log) stored(ctx context.Context, from es.AllPosition, d es.Direction, pageSize func() uint64) iter.Seq2[*es.RecordedEvent, error] {
	return func(yield func(*es.RecordedEvent, error) bool) {
		var last *es.Position // position of the last event that was yielded; the next page begins with the same event
		left := false
		err := l.retry(ctx, "read $all", func(losses int64) error {
			for {
				if last != nil {
					from = *last
				}
				got, size, opts := uint64(0), pageSize(), es.ReadAllOptions{Direction: d, From: from}
				err := stream(ctx, l, losses, func(ctx context.Context, c *es.Client, emit func(*es.RecordedEvent) bool) error {
					events, err := c.ReadAll(ctx, opts, size)
					return drain(events, err, emit)
				}, func(e *es.RecordedEvent) bool {
					got++
					if last != nil && *last == e.Position {
						return true
					}
					last = &e.Position
					left = !yield(e, nil)
					return !left
				})
				if err != nil || left || got < size {
					return err
				}
			}
		})
		if err != nil {
			yield(nil, translate("read $all", err))
		}
	}
}

// errReaderLeft is the error of a read whose caller stopped early. It is not nil,
// so that such a read is not mistaken for one that reached the end.
var errReaderLeft = errors.New("the reader stopped the read")

// drain emits the events of a read. It does not resolve links.
func drain(events *es.ReadStream, err error, emit func(*es.RecordedEvent) bool) error {
	if err != nil {
		return ended(err)
	}
	defer events.Close()
	for {
		event, err := events.Recv()
		if err != nil {
			return ended(err)
		}
		if !emit(event.OriginalEvent()) {
			return errReaderLeft
		}
	}
}

// The function ended() returns nil if the error means the end of a read or a stream
// that does not exist. It returns any other error unchanged.
func ended(err error) error {
	if errors.Is(err, io.EOF) || code(err) == es.ErrorCodeResourceNotFound && !misdirected(err) {
		return nil
	}
	return err
}

// count returns the number of events to request: the limit, or all events if there
// is no limit.
func count(limit int) uint64 {
	if limit > 0 {
		return uint64(limit)
	}
	return math.MaxInt64
}
