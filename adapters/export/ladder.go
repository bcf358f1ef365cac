package export

import (
	"context"
	"fmt"
	"iter"
	"sort"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections/matchcollector"
)

// ending is a ladder's event that ends a match.
type ending struct {
	event   eventstore.Recorded
	matchID string
	rated   []ladder.RatedSeat    // nil: aborted
	why     string                // of an abort
	match   []eventstore.Recorded // nil: to be read
	nth, of uint64                // of the events of the ladders that a run passes
}

// walk is the stretch of the log that a run passes.
type walk struct {
	first map[string]eventstore.Revision // by mode: of its ladder
	from  eventstore.Position
	head  eventstore.Position
	total uint64 // events of these ladders
}

// openWalk fixes the stretch: what comes to the log meanwhile is the next run's.
func (s *state) openWalk(ctx context.Context, log eventstore.Log) (w walk, err error) {
	w = walk{first: map[string]eventstore.Revision{}, from: eventstore.EndPosition}
	if w.head, err = eventstore.Head(ctx, log); err != nil {
		return walk{}, err
	}
	for _, mode := range s.options.modes() {
		b, err := behind(ctx, log, eventstore.StreamID(ladder.Stream(mode)), s.Position)
		if err != nil {
			return walk{}, err
		}
		w.first[mode] = b.revision
		w.total += b.left
		w.from = min(w.from, b.position)
	}
	switch {
	case s.Position == 0:
		w.from = 0
	case s.Last != nil:
		w.from = min(w.from, s.Position)
	}
	return w, ctx.Err()
}

// place is where a stream goes on behind a position of the log.
type place struct {
	revision eventstore.Revision
	position eventstore.Position // of the event there; EndPosition where there is none
	left     uint64              // events from there on
}

// behind finds the first event of a stream behind a position, which need not be
// an event's.
func behind(ctx context.Context, log eventstore.Log, stream eventstore.StreamID, p eventstore.Position) (at place, err error) {
	var count uint64
	for r, err := range log.Read(ctx, stream, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return place{}, err
		}
		count = uint64(r.Revision) + 1
	}
	at.position = eventstore.EndPosition
	first := sort.Search(int(count), func(i int) bool {
		for r, e := range log.Read(ctx, stream, eventstore.Revision(i), eventstore.ReadOptions{Limit: 1}) {
			if e != nil {
				err = e
			} else if r.Position <= p {
				return false
			}
			at.position = r.Position
		}
		return true
	})
	at.revision, at.left = eventstore.Revision(first), count-uint64(first)
	return at, err
}

// endings yields the ends of matches in the order of the log, each with its
// match where the read has passed all of it.
func (w walk) endings(ctx context.Context, log eventstore.Log) iter.Seq2[ending, error] {
	return func(yield func(ending, error) bool) {
		if w.total == 0 {
			return
		}
		matches, passed := matchcollector.New(), uint64(0)
		for r, err := range log.ReadAll(ctx, w.from, eventstore.ReadOptions{}) {
			if err != nil {
				yield(ending{}, err)
				return
			}
			if r.Position > w.head {
				return
			}
			matches.Add(r)
			mode, ok := ladder.ModeOf(string(r.Stream))
			if !ok {
				continue
			}
			e, ok, err := endingOf(r)
			if ok {
				e.match = matches.Take(e.matchID) // of another's ladder too: nobody else asks for it
			}
			if first, ours := w.first[mode]; !ours || r.Revision < first {
				continue
			}
			passed++
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
	switch d := decoded.(type) {
	case ladder.RatingsChanged:
		return ending{event: r, matchID: d.MatchID, rated: d.Seats}, true, nil
	case ladder.MatchVoided:
		return ending{event: r, matchID: d.MatchID, why: d.Why}, true, nil
	}
	return ending{}, false, nil
}
