package publish

import (
	"context"
	"fmt"

	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections/endings"
)

// lot is what is published at a time: an event of a ladder or of the keys, with
// the match that it ends before it. Without an event it says that the source has
// no more, for now.
type lot struct {
	event *eventstore.Recorded
	match []eventstore.Recorded // whole; empty where the event ends none
}

// collect follows the source.
func collect(ctx context.Context, from eventstore.Log, after eventstore.Position, lots chan<- lot) error {
	matches := endings.New()
	for m, err := range from.Subscribe(ctx, after, chosen) {
		if err != nil {
			return fmt.Errorf("the source: %w", err)
		}
		var l lot
		switch {
		case m.Event != nil && kindOf(m.Event.Stream) == ofMatch:
			matches.Add(*m.Event)
			continue
		case m.Event != nil && kindOf(m.Event.Stream) != ofOthers:
			l.event = m.Event
			if l.match, err = matchEndedBy(ctx, from, matches, *m.Event); err != nil {
				return fmt.Errorf("the source: %w", err)
			}
		case !m.CaughtUp:
			continue
		}
		select {
		case lots <- l:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return ctx.Err()
}

// matchEndedBy returns the match that an event ends, if it ends one. An event
// that this program does not know is an error: whether all may see it, it
// cannot say.
func matchEndedBy(ctx context.Context, from eventstore.Log, matches *endings.Gatherer, r eventstore.Recorded) ([]eventstore.Recorded, error) {
	if kindOf(r.Stream) == ofKeys {
		_, err := arena.DecodeKeys(r.Type, r.Data)
		return nil, at(r, err)
	}
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return nil, at(r, err)
	}
	var matchID string
	switch e := e.(type) {
	case ladder.RatingsChanged:
		matchID = e.MatchID
	case ladder.MatchVoided:
		matchID = e.MatchID
	default:
		return nil, nil
	}
	ended := matches.Take(matchID)
	if ended == nil {
		if ended, err = endings.Read(ctx, from, matchID); err != nil {
			return nil, err
		}
	}
	for _, r := range ended {
		if _, err := match.Decode(r.Type, r.Data); err != nil {
			return nil, at(r, err)
		}
	}
	return ended, nil
}

func at(r eventstore.Recorded, err error) error {
	if err != nil {
		err = fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
	}
	return err
}

// publish appends a lot to the target. What of it an earlier call has appended
// is stored once, since ids and revisions are the same.
func (l lot) publish(ctx context.Context, to eventstore.Log, p *Progress) error {
	if p.CaughtUp = l.event == nil; p.CaughtUp {
		return nil
	}
	for rest := l.match; len(rest) > 0; {
		n := fitting(rest)
		if err := store(ctx, to, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if err := store(ctx, to, []eventstore.Recorded{*l.event}); err != nil {
		return err
	}
	if len(l.match) > 0 {
		p.Matches++
	}
	p.Events += uint64(len(l.match)) + 1
	p.Position = l.event.Position
	return nil
}

// fitting is how many events one append takes.
func fitting(events []eventstore.Recorded) int {
	size := 0
	for i := range events {
		size += eventstore.AppendBytes([]eventstore.Event{events[i].Event})
		if size > eventstore.MaxAppendBytes && i > 0 {
			return i
		}
	}
	return len(events)
}

// store appends events of one stream at their revisions.
func store(ctx context.Context, to eventstore.Log, events []eventstore.Recorded) error {
	first, expected := events[0], eventstore.NoStream
	if first.Revision > 0 {
		expected = eventstore.At(first.Revision - 1)
	}
	proposed := make([]eventstore.Event, len(events))
	for i, r := range events {
		proposed[i] = r.Event
	}
	_, err := to.Append(ctx, first.Stream, expected, proposed...)
	switch {
	case eventstore.IsWrongVersion(err):
		return fmt.Errorf("the target: %w: %w", ErrNoFeed, err)
	case err != nil:
		return fmt.Errorf("the target: %w", err)
	}
	return nil
}
