package esdb

import (
	"context"
	"fmt"
	"iter"
	"math"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"hexarena/eventstore"
)

// Read yields a stream's events; see eventstore.Log. After an outage it goes on
// behind the last one it yielded.
func (l *Log) Read(ctx context.Context, id eventstore.StreamID, start eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return l.metrics.read(func(yield func(eventstore.Recorded, error) bool) {
		what, next, left := fmt.Sprintf("read %s", id), start, opt.Limit
		each := func(r eventstore.Recorded) bool {
			left--
			last := left == 0
			if opt.Direction == eventstore.Forwards {
				next = r.Revision + 1
			} else {
				next, last = r.Revision-1, last || r.Revision == 0
			}
			return yield(r, nil) && !last
		}
		err := l.retry(ctx, what, func() error {
			opts := es.ReadStreamOptions{Direction: direction(opt.Direction), From: from(next, opt.Direction)}
			size := count(left)
			return stream(ctx, l, func(ctx context.Context, c *es.Client, emit func(eventstore.Recorded) bool) error {
				events, err := c.ReadStream(ctx, string(id), opts, size)
				return drain(events, err, emit)
			}, each)
		})
		if err != nil {
			yield(eventstore.Recorded{}, translate(what, err))
		}
	})
}

// drain emits what a read brings.
func drain(events *es.ReadStream, err error, emit func(eventstore.Recorded) bool) error {
	if err != nil {
		return ended(err)
	}
	defer events.Close()
	for {
		event, err := events.Recv()
		if err != nil {
			return ended(err)
		}
		if !emit(recorded(event.OriginalEvent())) {
			return errLeft
		}
	}
}

// ReadAll yields the events of all streams; see eventstore.Log. After an outage
// it goes on behind the last one it yielded.
func (l *Log) ReadAll(ctx context.Context, start eventstore.Position, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return l.metrics.read(func(yield func(eventstore.Recorded, error) bool) {
		w := walk{next: start, left: opt.Limit, opt: opt, yield: yield}
		err := l.retry(ctx, "read $all", func() error {
			for more := true; more; {
				var err error
				if more, err = w.page(ctx, l); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			yield(eventstore.Recorded{}, translate("read $all", err))
		}
	})
}

// walk is how far a read of $all has come. The server counts system events,
// which are left out here: a limited read may take several pages.
type walk struct {
	next  eventstore.Position
	seen  bool // the event at next was yielded, or left out, before
	left  int  // of the limit
	done  bool
	opt   eventstore.ReadOptions
	yield func(eventstore.Recorded, error) bool
}

// slack is how many system events a limited page makes room for.
const slack = 32

// page reads on, and says whether there may be more.
func (w *walk) page(ctx context.Context, l *Log) (bool, error) {
	opts := es.ReadAllOptions{Direction: direction(w.opt.Direction), From: place(w.next)}
	size, got := count(w.left), uint64(0)
	if w.left > 0 {
		size += slack
	}
	err := stream(ctx, l, func(ctx context.Context, c *es.Client, emit func(eventstore.Recorded) bool) error {
		events, err := c.ReadAll(ctx, opts, size)
		return drain(events, err, emit)
	}, func(r eventstore.Recorded) bool { got++; return w.take(r) })
	return err == nil && !w.done && got == size, err
}

// take yields one event, unless it was seen or is a system event, and says
// whether to go on.
func (w *walk) take(r eventstore.Recorded) bool {
	if w.seen && r.Position == w.next {
		return true
	}
	w.next, w.seen = r.Position, true
	if system(r.Type) {
		return true
	}
	w.left--
	w.done = !w.yield(r, nil) || w.left == 0
	return !w.done
}

func count(limit int) uint64 {
	if limit > 0 {
		return uint64(limit)
	}
	return math.MaxInt64
}
