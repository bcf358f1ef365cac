package audit

import (
	"fmt"
	"time"

	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/rating"
	"hexarena/domain/strictjson"
)

// decodeLadder reads a stored event strictly, so that all readers of a log read the
// same values. Nobody can recompute the time of a tick, so decodeLadder checks only
// its format.
func decodeLadder(eventType string, data []byte) (ladder.Event, error) {
	r := strictjson.New(data)
	var e ladder.Event
	switch eventType {
	case ladder.TablesSeated{}.EventType():
		e = readSeated(r)
	case ladder.RatingsChanged{}.EventType():
		e = readRated(r)
	case ladder.MatchVoided{}.EventType():
		e = readVoided(r)
	default:
		return ladder.Decode(eventType, data) // this may convert an older shape
	}
	if r.Err() != nil {
		return nil, fmt.Errorf("%s: %w", eventType, r.Err())
	}
	return e, nil
}

func readSeated(r *strictjson.Reader) (e ladder.TablesSeated) {
	var at string
	r.OpenObject(need("tick", &at), need("seedKey", &e.SeedKey),
		need("tables", func() { e.Tables = strictjson.List(r, func() ladder.Table { return readTable(r) }) }),
		may("restMs", &e.RestMs),
		may("candidates", func() {
			e.Candidates = strictjson.List(r, func() ladder.Candidate { return readCandidate(r) })
		}),
		may("beacon", func() { e.Beacon = readNamed(r) }))
	e.Tick = readTime(r, at)
	return e
}

// readTime parses a time that r has read.
func readTime(r *strictjson.Reader, text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.Fail("%q is not a time", text)
	}
	return at
}

func readCandidate(r *strictjson.Reader) (c ladder.Candidate) {
	var registered, changed string
	r.OpenObject(need("botId", &c.BotID), need("registered", &registered), need("statusChanged", &changed))
	c.Registered, c.StatusChanged = readTime(r, registered), readTime(r, changed)
	return c
}

func readNamed(r *strictjson.Reader) *beacon.Named {
	n := new(beacon.Named)
	r.OpenObject(need("chain", &n.Chain), need("round", &n.Round))
	return n
}

func readTable(r *strictjson.Reader) (t ladder.Table) {
	r.OpenObject(need("matchId", &t.MatchID), need("bots", &t.Bots), need("commitment", func() { t.Commitment = readSeed(r) }))
	return t
}

func readRated(r *strictjson.Reader) (e ladder.RatingsChanged) {
	r.OpenObject(need("match", &e.MatchID), need("seats", func() {
		e.Seats = strictjson.List(r, func() ladder.RatedSeat { return readRatedSeat(r) })
	}))
	return e
}

func readRatedSeat(r *strictjson.Reader) (s ladder.RatedSeat) {
	r.OpenObject(need("botId", &s.BotID), need("placement", &s.Placement), need("before", func() { s.Before = readRating(r) }),
		need("after", func() { s.After = readRating(r) }), need("missed", &s.Missed))
	return s
}

func readRating(r *strictjson.Reader) (v rating.Rating) {
	r.OpenObject(need("mu", &v.Mu), need("sigma", &v.Sigma))
	return v
}

func readVoided(r *strictjson.Reader) (e ladder.MatchVoided) {
	r.OpenObject(need("match", &e.MatchID), need("why", &e.Why))
	return e
}
