package leaderboard

import (
	"database/sql"
	"slices"
	"sync"
	"time"

	"hexarena/projections"
)

// keptMoments is how many standings of the past are remembered: reading those
// of 10,000 bots takes some ten milliseconds, and people ask for few times.
const keptMoments = 8

// past remembers standings by the match that they come after, since these never
// change. It reads one at a time, so that whoever asks for many keeps no more
// than one core.
type past struct {
	mu   sync.Mutex
	kept []moment // the latest read first
}

// moment are the standings of a mode after a match.
type moment struct {
	mode      string
	match     int64
	standings map[string]standing
}

func (p *past) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = nil
}

// RowsAt returns a mode's ranking as it was at a time, with today's names, less
// who has been removed since.
func (l *Leaderboard) RowsAt(mode string, at time.Time, names Names) ([]Row, error) {
	standings, err := l.standingsAt(mode, at)
	return rank(standings, names), err
}

// Spread says how sure a mode's ladder was of its bots at a time: three sigma,
// by bot id.
func (l *Leaderboard) Spread(mode string, at time.Time) (map[string]float64, error) {
	standings, err := l.standingsAt(mode, at)
	spread := make(map[string]float64, len(standings))
	for id, s := range standings {
		spread[id] = 3 * s.rating.Sigma
	}
	return spread, err
}

// standingsAt are those of a time, which are not to be changed.
func (l *Leaderboard) standingsAt(mode string, at time.Time) (map[string]standing, error) {
	l.mu.RLock()
	now, rows := !at.Before(l.closed[mode]), l.rows
	l.mu.RUnlock()
	if now {
		return l.standings(mode), nil
	}
	var match int64 // the last one by then
	err := projections.Each(rows, func(scan projections.Scan) error { return scan(&match) },
		"SELECT id FROM matches WHERE mode = ? AND closed <= ? ORDER BY closed DESC, id DESC LIMIT 1", mode, at.UnixMilli())
	if err != nil {
		return nil, err
	}
	return l.past.after(rows, mode, match)
}

// after are the standings after a match, 0 for none.
func (p *past) after(rows *sql.DB, mode string, match int64) (map[string]standing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := func(m moment) bool { return m.mode == mode && m.match == match }
	if i := slices.IndexFunc(p.kept, known); i >= 0 {
		return p.kept[i].standings, nil
	}
	standings := map[string]standing{}
	err := projections.Each(rows, func(scan projections.Scan) error {
		var id string
		var s standing
		err := scan(&id, &s.rating.Mu, &s.rating.Sigma, &s.games)
		standings[id] = s
		return err
	}, `SELECT b.bot, s.mu, s.sigma, s.games FROM bots b JOIN seats s ON s.bot = b.id AND s.match = (
			SELECT max(match) FROM seats WHERE bot = b.id AND match <= ?2 AND placement IS NOT NULL)
		WHERE b.mode = ?1`, mode, match)
	if err != nil {
		return nil, err
	}
	p.kept = slices.Insert(p.kept, 0, moment{mode, match, standings})
	p.kept = p.kept[:min(len(p.kept), keptMoments)]
	return standings, nil
}
