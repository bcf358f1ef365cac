package export

import (
	"context"
	"fmt"
	"iter"
	"sort"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// ending is a ladder's event that ends a match.
type ending struct {
	event   eventstore.Recorded
	mode    string
	matchID string
	rated   []ladder.RatedSeat // nil: aborted
	why     string             // of an abort
	nth, of uint64             // of the events of the ladders that a run passes
}

// walk is the stretch of ladders that a run passes: behind one position, up to
// another.
type walk struct {
	modes []string
	from  []eventstore.Revision // by mode
	head  eventstore.Position
	total uint64
}

// openWalk fixes the stretch: what comes to the log meanwhile is the next run's.
func (s *state) openWalk(ctx context.Context, log eventstore.Log) (walk, error) {
	w := walk{modes: s.options.modes()}
	for r, err := range log.ReadAll(ctx, eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return walk{}, err
		}
		w.head = r.Position
	}
	for _, mode := range w.modes {
		from, left, err := behind(ctx, log, eventstore.StreamID(ladder.Stream(mode)), s.Position)
		if err != nil {
			return walk{}, err
		}
		w.from = append(w.from, from)
		w.total += left
	}
	return w, ctx.Err()
}

// behind finds the first revision of a stream that stands behind a position,
// and how many events stand there. The position need not be an event's.
func behind(ctx context.Context, log eventstore.Log, stream eventstore.StreamID, p eventstore.Position) (from eventstore.Revision, left uint64, err error) {
	var count uint64
	for r, err := range log.Read(ctx, stream, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return 0, 0, err
		}
		count = uint64(r.Revision) + 1
	}
	first := sort.Search(int(count), func(i int) bool {
		for r, e := range log.Read(ctx, stream, eventstore.Revision(i), eventstore.ReadOptions{Limit: 1}) {
			if e != nil {
				err = e
				return true
			}
			return r.Position > p
		}
		return true
	})
	return eventstore.Revision(first), count - uint64(first), err
}

// endings yields the ends of matches in the order of the log.
func (w walk) endings(ctx context.Context, log eventstore.Log) iter.Seq2[ending, error] {
	return func(yield func(ending, error) bool) {
		var passed uint64
		for r, err := range w.events(ctx, log) {
			if err != nil {
				yield(ending{}, err)
				return
			}
			passed++
			e, ok, err := endingOf(r)
			e.nth, e.of = passed, max(passed, w.total)
			if (ok || err != nil) && !yield(e, err) {
				return
			}
		}
	}
}

// endingOf reads a ladder's event; ok is false for one that ends no match.
func endingOf(r eventstore.Recorded) (e ending, ok bool, err error) {
	decoded, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return ending{}, false, fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
	}
	mode, _ := ladder.ModeOf(string(r.Stream))
	switch d := decoded.(type) {
	case ladder.RatingsChanged:
		return ending{event: r, mode: mode, matchID: d.MatchID, rated: d.Seats}, true, nil
	case ladder.MatchVoided:
		return ending{event: r, mode: mode, matchID: d.MatchID, why: d.Why}, true, nil
	}
	return ending{}, false, nil
}

// events merges the ladders by position.
func (w walk) events(ctx context.Context, log eventstore.Log) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		var heads []*head
		for i, mode := range w.modes {
			next, stop := iter.Pull2(log.Read(ctx, eventstore.StreamID(ladder.Stream(mode)), w.from[i], eventstore.ReadOptions{}))
			defer stop()
			h := &head{next: next}
			h.advance(w.head)
			heads = append(heads, h)
		}
		for {
			first := earliest(heads)
			if first == nil || !yield(first.event, first.err) || first.err != nil {
				return
			}
			first.advance(w.head)
		}
	}
}

// head is the next event of one ladder.
type head struct {
	next  func() (eventstore.Recorded, error, bool)
	event eventstore.Recorded
	err   error
	there bool
}

func (h *head) advance(last eventstore.Position) {
	h.event, h.err, h.there = h.next()
	h.there = h.there && (h.err != nil || h.event.Position <= last)
}

// earliest is the head that stands first in the log; an error comes before all.
func earliest(heads []*head) *head {
	var first *head
	for _, h := range heads {
		if h.there && (first == nil || h.err != nil || first.err == nil && h.event.Position < first.event.Position) {
			first = h
		}
	}
	return first
}
