package records

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/matches"
)

// Log returns a log with the streams of all matches, and with the ladder of each mode.
// Local matches change no ratings. So the ladders rate the bots as if all matches had
// been rated, in the order of the set. All bots begin with the rating of a new bot. The
// same records give the same log. If records are added at the end, the log grows.
//
// Report is called after each record.
func (s *Set) Log(ctx context.Context, report func(done, total uint64)) (eventstore.Log, error) {
	b := &logBuilder{log: memory.New(), ratings: map[[2]string]rating.Rating{}}
	for i, id := range s.IDs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := s.Read(id)
		if err == nil {
			err = b.add(ctx, r)
		}
		if err != nil {
			return nil, err
		}
		report(uint64(i+1), uint64(len(s.IDs)))
	}
	return b.log, nil
}

type logBuilder struct {
	log     *memory.Log
	ratings map[[2]string]rating.Rating // by mode and bot
}

// add appends the stream of a match, and its event of the ladder.
func (b *logBuilder) add(ctx context.Context, r *Record) error {
	h := &r.History
	stream := match.Stream(r.Match.ID)
	events := make([]eventstore.Event, 0, len(h.Events)+1)
	for i, e := range append([]match.Event{h.Started}, h.Events...) {
		one, err := eventstore.Encode(e, eventstore.Metadata{At: h.Times[max(i-1, 0)]})
		if err != nil {
			return err
		}
		one.ID = eventID(stream, i)
		events = append(events, one)
	}
	if _, err := b.log.Append(ctx, eventstore.StreamID(stream), eventstore.NoStream, events...); err != nil {
		return fmt.Errorf("match %s: %w", r.Match.ID, err)
	}
	ending, err := eventstore.Encode(b.ending(r), eventstore.Metadata{At: h.Times[len(h.Times)-1]})
	if err != nil {
		return err
	}
	ending.ID = eventID(stream, -1)
	_, err = b.log.Append(ctx, eventstore.StreamID(ladder.Stream(r.Match.Mode)), eventstore.Any, ending)
	return err
}

// eventID returns the same id for the same event in each run, because an export
// recognizes a log by the id of an event.
func eventID(stream string, n int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "hexarena:records:%s:%d", stream, n))
}

// ending returns the event of the ladder that ends a match.
func (b *logBuilder) ending(r *Record) ladder.Event {
	m := &r.Match
	if m.Status == matches.Aborted {
		return ladder.MatchVoided{MatchID: m.ID, Why: m.Reason}
	}
	var seats []ladder.RatedSeat
	var before []rating.Rating
	var placements []int
	for _, bot := range m.Proof.Table {
		for _, p := range m.Players {
			if p.BotID == bot && p.Placement != nil {
				before, placements = append(before, cmp.Or(b.ratings[[2]string{m.Mode, bot}], rating.New())), append(placements, *p.Placement)
				seats = append(seats, ladder.RatedSeat{BotID: bot, Placement: *p.Placement, Missed: p.Seat < len(m.Seats) && m.Seats[p.Seat].Missed})
			}
		}
	}
	for i, after := range rating.Rate(before, placements) {
		seats[i].Before, seats[i].After = before[i], after
		b.ratings[[2]string{m.Mode, seats[i].BotID}] = after
	}
	return ladder.RatingsChanged{MatchID: m.ID, Seats: seats}
}
