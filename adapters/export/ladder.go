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

// ending is the ladder event that rates or voids a match.
type ending struct {
	event   eventstore.Recorded
	matchID string
	rated   []ladder.RatedSeat    // nil if the match was aborted
	why     string                // the reason for an abort
	match   []eventstore.Recorded // nil if the match must be read from its stream
	nth, of uint64                // number of this ladder event, and total number of ladder events that the run reads
}

// walk describes the part of the log that a run reads.
type walk struct {
	first map[string]eventstore.Revision // for each mode, the first event to read from its ladder
	from  eventstore.Position
	head  eventstore.Position
	total uint64 // events of these ladders
}

// openWalk determines the part of the log that this run reads, which ends at the
// current end of the log. The next run reads later events.
func (s *state) openWalk(ctx context.Context, log eventstore.Log) (w walk, err error) {
	w = walk{first: map[string]eventstore.Revision{}, from: eventstore.EndPosition}
	if w.head, err = eventstore.Head(ctx, log); err != nil {
		return walk{}, err
	}
	for _, mode := range s.options.modes() {
		r, err := restAfter(ctx, log, eventstore.StreamID(ladder.Stream(mode)), s.Position)
		if err != nil {
			return walk{}, err
		}
		w.first[mode] = r.revision
		w.total += r.left
		w.from = min(w.from, r.position)
	}
	switch {
	case s.Position == 0:
		w.from = 0
	case s.Last != nil:
		w.from = min(w.from, s.Position)
	}
	return w, ctx.Err()
}

// The type rest is the part of a stream after a position of the log.
type rest struct {
	revision eventstore.Revision
	position eventstore.Position // position of the first event; EndPosition if no events are left
	left     uint64              // the number of events in this part
}

// restAfter uses a binary search to find the part of a stream after a position. The
// position may lie between two events.
func restAfter(ctx context.Context, log eventstore.Log, stream eventstore.StreamID, p eventstore.Position) (at rest, err error) {
	var count uint64
	for r, err := range log.Read(ctx, stream, eventstore.EndRevision, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		if err != nil {
			return rest{}, err
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

// The method endings() yields the endings of matches in the order of the log. If the
// method has read all events of a match, the match's ending includes them.
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
				e.match = matches.Take(e.matchID) // even if the ladder is not exported, to free the memory
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

// endingOf decodes an event of a ladder. ok is false if the event does not end a match.
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
