package replica

import (
	"context"
	"fmt"

	"hexarena/domain/arena"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections/matchcollector"
)

// batch contains one event of a ladder or of the stream of keys, or the deletion of an
// account. If the event ends a match, the batch also contains that match. A batch
// without an event means that the source has no more events for now.
type batch struct {
	event *eventstore.Recorded
	match []eventstore.Recorded // all events of the match; empty if the event does not end a match
}

// follow sends one batch for each public event in the source after a position: each
// event of a ladder or of the stream of keys, and each deletion of an account.
func follow(ctx context.Context, from eventstore.Log, after eventstore.Position, batches chan<- batch) error {
	matches := matchcollector.New()
	for m, err := range from.Subscribe(ctx, after, filter) {
		if err != nil {
			return fmt.Errorf("the source: %w", err)
		}
		var b batch
		switch {
		case m.Event != nil && kindOf(m.Event.Stream) == matchStream:
			matches.Add(*m.Event)
			continue
		case m.Event != nil && isDeletion(*m.Event):
			deletion := *m.Event
			deletion.Revision = 0 // the target contains no other event of the account
			b.event = &deletion
		case m.Event != nil && kindOf(m.Event.Stream) != privateStream:
			b.event = m.Event
			if b.match, err = matchEndedBy(ctx, from, matches, *m.Event); err != nil {
				return fmt.Errorf("the source: %w", err)
			}
		case !m.CaughtUp:
			continue
		}
		select {
		case batches <- b:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return ctx.Err()
}

// matchEndedBy returns the events of the match that r ends, or nil if r does not end a
// match. For an event of an unknown type, it returns an error, because such an event
// may contain data that is not public.
func matchEndedBy(ctx context.Context, from eventstore.Log, matches *matchcollector.Collector, r eventstore.Recorded) ([]eventstore.Recorded, error) {
	if kindOf(r.Stream) == keysStream {
		_, err := arena.DecodeKeys(r.Type, r.Data)
		return nil, locate(r, err)
	}
	e, err := ladder.Decode(r.Type, r.Data)
	if err != nil {
		return nil, locate(r, err)
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
		if ended, err = matchcollector.Read(ctx, from, matchID); err != nil {
			return nil, err
		}
	}
	for _, r := range ended {
		if _, err := match.Decode(r.Type, r.Data); err != nil {
			return nil, locate(r, err)
		}
	}
	return ended, nil
}

func locate(r eventstore.Recorded, err error) error {
	if err != nil {
		err = fmt.Errorf("%s@%d: %w", r.Stream, r.Revision, err)
	}
	return err
}

// appendTo appends a batch to the target. If an interrupted call has already appended
// some of the events, the target does not store them twice, because their ids and
// revisions are the same.
func (b batch) appendTo(ctx context.Context, to eventstore.Log, p *Progress) error {
	if p.CaughtUp = b.event == nil; p.CaughtUp {
		return nil
	}
	for rest := b.match; len(rest) > 0; {
		n := fitting(rest)
		if err := store(ctx, to, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if err := store(ctx, to, []eventstore.Recorded{*b.event}); err != nil {
		return err
	}
	if len(b.match) > 0 {
		p.Matches++
	}
	p.Events += uint64(len(b.match)) + 1
	p.Position = b.event.Position
	return nil
}

// The function fitting() returns how many of the events fit into one append.
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

// store appends events of one stream, at the same revisions as in the source.
func store(ctx context.Context, to eventstore.Log, events []eventstore.Recorded) error {
	first, expected := events[0], eventstore.NoStream
	if first.Revision > 0 {
		expected = eventstore.At(first.Revision - 1)
	}
	copies := make([]eventstore.Event, len(events))
	for i, r := range events {
		copies[i] = r.Event
	}
	_, err := to.Append(ctx, first.Stream, expected, copies...)
	switch {
	case eventstore.IsWrongVersion(err):
		return fmt.Errorf("the target: %w: %w", ErrNotReplica, err)
	case err != nil:
		return fmt.Errorf("the target: %w", err)
	}
	return nil
}
