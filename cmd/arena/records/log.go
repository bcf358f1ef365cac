package records

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/domain/rating"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
	"hexarena/projections/matches"
)

// recordLog is a log with the matches of a set. The ladders are in memory. The stream of a
// match is made from its record whenever it is read, because all streams together may
// not fit into memory. ReadAll and Subscribe yield only the events of the ladders.
type recordLog struct {
	*memory.Log

	set *Set
	ids map[eventstore.StreamID]string // of matches, by stream
}

// Log returns a log with the matches and with the ladder of each mode, for exports. Local
// matches change no ratings. So the ladders rate the bots as if all matches had been
// rated, in the order of the set. All bots begin with the rating of a new bot. The same
// records give the same log. If records are added at the end, the log grows.
//
// Log calls report after each record.
func (s *Set) Log(ctx context.Context, report func(done, total uint64)) (eventstore.Log, error) {
	l := &recordLog{memory.New(), s, map[eventstore.StreamID]string{}}
	ratings := map[[2]string]rating.Rating{} // by mode and bot
	for i, id := range s.IDs {
		h, err := s.head(id)
		if err != nil {
			return nil, err
		}
		if h.EndedAt == nil {
			return nil, fmt.Errorf("match %s: the match is still running", id)
		}
		at, err := time.Parse(match.TimeFormat, *h.EndedAt)
		if err != nil {
			return nil, fmt.Errorf("match %s: %w", id, err)
		}
		stream := match.Stream(id)
		l.ids[eventstore.StreamID(stream)] = id
		ending, err := encode(endingOf(&h, ratings), at, stream, -1)
		if err != nil {
			return nil, err
		}
		if _, err := l.Append(ctx, eventstore.StreamID(ladder.Stream(h.Mode)), eventstore.Any, ending); err != nil {
			return nil, err
		}
		report(uint64(i+1), uint64(len(s.IDs)))
	}
	return l, nil
}

// Read implements eventstore.Log.
func (l *recordLog) Read(ctx context.Context, stream eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	id, isMatch := l.ids[stream]
	if !isMatch {
		return l.Log.Read(ctx, stream, from, opt)
	}
	one, err := l.matchLog(ctx, stream, id)
	if err != nil {
		return func(yield func(eventstore.Recorded, error) bool) { yield(eventstore.Recorded{}, err) }
	}
	return one.Read(ctx, stream, from, opt)
}

// matchLog returns a log with the stream of one match.
func (l *recordLog) matchLog(ctx context.Context, stream eventstore.StreamID, id string) (*memory.Log, error) {
	r, err := l.set.Read(id)
	if err != nil {
		return nil, err
	}
	h := &r.History
	events := make([]eventstore.Event, len(h.Events)+1)
	if events[0], err = encode(h.Started, h.Times[0], string(stream), 0); err != nil {
		return nil, err
	}
	for i, e := range h.Events {
		if events[i+1], err = encode(e, h.Times[i], string(stream), i+1); err != nil {
			return nil, err
		}
	}
	one := memory.New()
	_, err = one.Append(ctx, stream, eventstore.NoStream, events...)
	return one, err
}

// encode encodes an event. Its id is the same in each run, because an export recognizes a
// log by the id of an event.
func encode(e eventstore.Typed, at time.Time, stream string, n int) (eventstore.Event, error) {
	one, err := eventstore.Encode(e, eventstore.Metadata{At: at})
	one.ID = uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "hexarena:records:%s:%d", stream, n))
	return one, err
}

// endingOf returns the event of the ladder that ends a match, and changes the ratings.
func endingOf(h *head, ratings map[[2]string]rating.Rating) ladder.Event {
	if h.Status == matches.Aborted {
		return ladder.MatchVoided{MatchID: h.ID, Why: h.Reason}
	}
	var seats []ladder.RatedSeat
	var before []rating.Rating
	var placements []int
	for _, bot := range h.Proof.Table { // in this order, ratings are exact
		for _, p := range h.Players {
			if p.BotID == bot && p.Placement != nil {
				before, placements = append(before, cmp.Or(ratings[[2]string{h.Mode, bot}], rating.New())), append(placements, *p.Placement)
				seats = append(seats, ladder.RatedSeat{BotID: bot, Placement: *p.Placement, Missed: p.Seat < len(h.Seats) && h.Seats[p.Seat].Missed})
			}
		}
	}
	for i, after := range rating.Rate(before, placements) {
		seats[i].Before, seats[i].After = before[i], after
		ratings[[2]string{h.Mode, seats[i].BotID}] = after
	}
	return ladder.RatingsChanged{MatchID: h.ID, Seats: seats}
}
