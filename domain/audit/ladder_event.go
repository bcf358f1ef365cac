package audit

import (
	"fmt"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/rating"
)

// decodeLadder reads a stored event strictly, so that no two readers of one log
// can take it for two things. The time of a tick is nothing that follows.
func decodeLadder(eventType string, data []byte) (ladder.Event, error) {
	r := newReader(data)
	var e ladder.Event
	switch eventType {
	case ladder.TablesSeated{}.EventType():
		e = readSeated(r)
	case ladder.RatingsChanged{}.EventType():
		e = readRated(r)
	case ladder.MatchVoided{}.EventType():
		e = readVoided(r)
	default:
		return ladder.Decode(eventType, data) // a shape of old that it reads as today's
	}
	if r.err != nil {
		return nil, fmt.Errorf("%s: %w", eventType, r.err)
	}
	return e, nil
}

func readSeated(r *reader) ladder.TablesSeated {
	var e ladder.TablesSeated
	found := r.object(true, func(key string) bool {
		switch key {
		case "tick":
			at := r.str()
			if _, err := time.Parse(time.RFC3339, at); err != nil {
				r.fail("%q is no time", at)
			}
		case "seedKey":
			e.SeedKey = r.str()
		case "tables":
			r.array(func() { e.Tables = append(e.Tables, readTable(r)) })
		default:
			return false
		}
		return true
	})
	r.need(found == 3, "tick, seedKey or tables")
	return e
}

func readTable(r *reader) ladder.Table {
	var t ladder.Table
	found := r.object(true, func(key string) bool {
		switch key {
		case "matchId":
			t.MatchID = r.str()
		case "bots":
			t.Bots = r.strings()
		case "commitment":
			t.Commitment = readSeed(r)
		default:
			return false
		}
		return true
	})
	r.need(found == 3, "matchId, bots or commitment")
	return t
}

func readRated(r *reader) ladder.RatingsChanged {
	e := ladder.RatingsChanged{Seats: make([]ladder.RatedSeat, 0, 4)}
	found := r.object(true, func(key string) bool {
		switch key {
		case "match":
			e.MatchID = r.str()
		case "seats":
			r.array(func() { e.Seats = append(e.Seats, readRatedSeat(r)) })
		default:
			return false
		}
		return true
	})
	r.need(found == 2, "match or seats")
	return e
}

func readRatedSeat(r *reader) ladder.RatedSeat {
	var s ladder.RatedSeat
	found := r.object(true, func(key string) bool {
		switch key {
		case "botId":
			s.BotID = r.str()
		case "placement":
			s.Placement = r.integer()
		case "before":
			s.Before = readRating(r)
		case "after":
			s.After = readRating(r)
		case "missed":
			s.Missed = r.boolean()
		default:
			return false
		}
		return true
	})
	r.need(found == 5, "botId, placement, before, after or missed")
	return s
}

func readRating(r *reader) rating.Rating {
	var v rating.Rating
	found := r.object(true, func(key string) bool {
		switch key {
		case "mu":
			v.Mu = r.number()
		case "sigma":
			v.Sigma = r.number()
		default:
			return false
		}
		return true
	})
	r.need(found == 2, "mu or sigma")
	return v
}

func readVoided(r *reader) ladder.MatchVoided {
	var e ladder.MatchVoided
	found := r.object(true, func(key string) bool {
		switch key {
		case "match":
			e.MatchID = r.str()
		case "why":
			e.Why = r.str()
		default:
			return false
		}
		return true
	})
	r.need(found == 2, "match or why")
	return e
}
