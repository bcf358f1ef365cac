package leaderboard

import (
	"context"
	"database/sql"
	"time"

	"hexarena/domain/ladder"
	"hexarena/domain/rating"
	"hexarena/projections"
	"hexarena/projections/seats"
)

// History lists a bot's finished matches in the order in which the ladder closed
// them.
type History struct {
	Mode    string
	Points  []Point        // the completed matches
	Aborted []AbortedMatch // the aborted matches
}

// Point is a bot's completed match and its rating afterwards.
type Point struct {
	EndedMatch
	Placement int
	rating.Rating
}

// AbortedMatch is a bot's aborted match.
type AbortedMatch struct {
	EndedMatch
	Reason string // a code of ladder.MatchVoided
}

// EndedMatch is one match of a bot that has ended.
type EndedMatch struct {
	MatchID string
	EndedAt time.Time
	Seat    int
	Played  seats.Seat // what the bot did
}

// History returns a bot's history. If the bot has never started a match,
// History returns false, because such a bot is not public.
func (l *Leaderboard) History(botID string) (h History, ok bool, err error) {
	b, rows, ok := l.find(botID)
	if !ok {
		return History{}, false, nil
	}
	h = History{Mode: b.mode, Points: []Point{}, Aborted: []AbortedMatch{}}
	err = projections.Each(rows, func(scan projections.Scan) error {
		var p Point
		var ended int64
		var placement sql.Null[int]
		var mu, sigma sql.Null[float64]
		var reason sql.Null[string]
		err := scan(&p.MatchID, &ended, &p.Seat, &placement, &mu, &sigma, &reason,
			&p.Played.Strikes, &p.Played.Resigned, &p.Played.Missed, &p.Played.TimeUsedMs, &p.Played.RatingBefore, &p.Played.Version)
		p.EndedAt = time.UnixMilli(ended).UTC()
		if !placement.Valid {
			h.Aborted = append(h.Aborted, AbortedMatch{p.EndedMatch, reason.V})
			return err
		}
		p.Placement, p.Rating = placement.V, rating.Rating{Mu: mu.V, Sigma: sigma.V}
		after := p.Displayed()
		p.Played.RatingAfter = &after
		h.Points = append(h.Points, p)
		return err
	}, `SELECT m.match, m.ended, s.seat, s.placement, s.mu, s.sigma, m.reason, s.strikes, s.resigned, s.missed, s.used, s.before, s.version
		FROM seats s JOIN matches m ON m.id = s.match WHERE s.bot = ? ORDER BY s.match`, b.id)
	return h, true, err
}

// Games returns the number of completed matches of a bot.
func (l *Leaderboard) Games(botID string) int {
	b, _, _ := l.find(botID)
	return b.games
}

func (l *Leaderboard) find(botID string) (b bot, rows *sql.DB, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	b, ok = l.bots[botID]
	return b, l.rows, ok
}

// SeatTally counts a bot's placements at one seat.
type SeatTally struct {
	Seat   int
	Games  int    // completed matches
	Places [4]int // how often the bot was first, second and so on
}

// BySeat counts a bot's placements in completed matches, separately for each seat
// and in the order of the seats. It leaves out seats at which the bot never played.
func (l *Leaderboard) BySeat(botID string) ([]SeatTally, error) {
	b, rows, ok := l.find(botID)
	if !ok {
		return nil, nil
	}
	var tallies []SeatTally
	err := projections.Each(rows, func(scan projections.Scan) error {
		var seat, placement, n int
		if err := scan(&seat, &placement, &n); err != nil {
			return err
		}
		if len(tallies) == 0 || tallies[len(tallies)-1].Seat != seat {
			tallies = append(tallies, SeatTally{Seat: seat})
		}
		t := &tallies[len(tallies)-1]
		t.Games += n
		t.Places[placement-1] = n
		return nil
	}, "SELECT seat, placement, count(*) FROM seats WHERE bot = ? AND placement IS NOT NULL GROUP BY seat, placement ORDER BY seat", b.id)
	return tallies, err
}

// maxVersions is the maximum number of versions in a tally.
const maxVersions = 20

// VersionTally counts a bot's placements with one version of its program.
type VersionTally struct {
	Version string // empty for the matches in which the bot named no version
	Games   int    // completed matches
	Places  [4]int // how often the bot was first, second, …
}

// ByVersion counts a bot's completed matches for each version. The version that played
// last comes first. It lists at most maxVersions versions.
func (l *Leaderboard) ByVersion(botID string) ([]VersionTally, error) {
	b, rows, ok := l.find(botID)
	if !ok {
		return nil, nil
	}
	var tallies []VersionTally
	err := projections.Each(rows, func(scan projections.Scan) error {
		var t VersionTally
		err := scan(&t.Version, &t.Games, &t.Places[0], &t.Places[1], &t.Places[2], &t.Places[3])
		tallies = append(tallies, t)
		return err
	}, `SELECT version, count(*), sum(placement = 1), sum(placement = 2), sum(placement = 3), sum(placement = 4)
		FROM seats WHERE bot = ? AND placement IS NOT NULL GROUP BY version ORDER BY max(match) DESC LIMIT ?`, b.id, maxVersions)
	return tallies, err
}

// ClockAborts counts a bot's matches that the wall clock aborted.
type ClockAborts struct {
	Matches  int
	Measured int   // matches that have clocks; UsedMs and AllMs count only these matches
	UsedMs   int64 // the time that the bot used
	AllMs    int64 // the time that all bots in these matches used
}

// ClockAborts counts a bot's matches that the wall clock aborted.
func (l *Leaderboard) ClockAborts(botID string) (c ClockAborts, err error) {
	b, rows, ok := l.find(botID)
	if !ok {
		return c, nil
	}
	err = rows.QueryRowContext(context.Background(), `SELECT count(*), count(s.used), coalesce(sum(s.used), 0),
			coalesce(sum((SELECT sum(used) FROM seats WHERE match = s.match)), 0)
		FROM seats s JOIN matches m ON m.id = s.match WHERE s.bot = ? AND m.reason = ?`, b.id, ladder.WhyWallClock).
		Scan(&c.Matches, &c.Measured, &c.UsedMs, &c.AllMs)
	return c, err
}

// Rival counts a bot's results against another bot, in the completed matches that
// both played.
type Rival struct {
	BotID string
	Games int
	Above int // matches in which the bot placed ahead of the rival
	Level int // matches in which both had the same placement
	Below int // matches in which the bot placed behind the rival
}

// SeatRival counts a bot's results against another bot at one seat. The BotID is empty.
type SeatRival struct {
	Seat int
	Rival
}

// Against counts a bot's results against a rival, separately for each seat of the bot. It
// leaves out seats at which they have no completed match.
func (l *Leaderboard) Against(botID, rivalID string) ([]SeatRival, error) {
	b, rows, ok := l.find(botID)
	rival, _, known := l.find(rivalID)
	if !ok || !known || botID == rivalID {
		return nil, nil
	}
	// Read the matches of the bot that has fewer of them.
	join := "seats s CROSS JOIN seats o"
	if rival.games < b.games {
		join = "seats o CROSS JOIN seats s"
	}
	var list []SeatRival
	err := projections.Each(rows, func(scan projections.Scan) error {
		var r SeatRival
		err := scan(&r.Seat, &r.Games, &r.Above, &r.Level, &r.Below)
		list = append(list, r)
		return err
	}, `SELECT s.seat, count(*), sum(s.placement < o.placement), sum(s.placement = o.placement), sum(s.placement > o.placement)
		FROM `+join+` WHERE s.bot = ? AND o.bot = ? AND o.match = s.match AND s.placement IS NOT NULL GROUP BY s.seat ORDER BY s.seat`, b.id, rival.id)
	return list, err
}

// HeadToHead lists a bot's rivals, starting with the most frequent one. Equally
// frequent rivals are sorted by id.
func (l *Leaderboard) HeadToHead(botID string) ([]Rival, error) {
	b, rows, ok := l.find(botID)
	if !ok {
		return nil, nil
	}
	var rivals []Rival
	err := projections.Each(rows, func(scan projections.Scan) error {
		var r Rival
		err := scan(&r.BotID, &r.Games, &r.Above, &r.Level, &r.Below)
		rivals = append(rivals, r)
		return err
	}, `SELECT b.bot, count(*), sum(s.placement < o.placement), sum(s.placement = o.placement), sum(s.placement > o.placement)
		FROM seats s JOIN seats o ON o.match = s.match AND o.bot <> s.bot JOIN bots b ON b.id = o.bot
		WHERE s.bot = ? AND s.placement IS NOT NULL GROUP BY o.bot ORDER BY count(*) DESC, b.bot`, b.id)
	return rivals, err
}
