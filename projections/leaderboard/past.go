package leaderboard

import (
	"database/sql"
	"slices"
	"sync"
	"time"

	"hexarena/projections"
)

// maxPast is the maximum number of cached standings. Reading the standings of
// 10,000 bots takes about ten milliseconds, and requests ask for only a few
// different times.
const maxPast = 8

// The type past is a cache of standings. Each entry contains the standings of a mode
// after a certain match. Such standings never change. Only one goroutine reads
// standings at a time, so that many requests use at most one core.
type past struct {
	mu     sync.Mutex
	cached []pastStandings // the most recently read first
}

// pastStandings contains the standings of a mode after a match.
type pastStandings struct {
	mode      string
	match     int64
	standings map[string]standing
}

func (p *past) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cached = nil
}

// RowsAt returns a mode's ranking at the given time. It uses the current names,
// and leaves out bots that have been removed since then.
func (l *Leaderboard) RowsAt(mode string, at time.Time, names Names) ([]Row, error) {
	standings, err := l.standingsAt(mode, at)
	return rank(standings, names), err
}

// Spread returns the uncertainty of each rating of a mode at the given time.
// The uncertainty is three sigma. The keys of the result are bot ids.
func (l *Leaderboard) Spread(mode string, at time.Time) (map[string]float64, error) {
	standings, err := l.standingsAt(mode, at)
	spread := make(map[string]float64, len(standings))
	for id, s := range standings {
		spread[id] = 3 * s.rating.Sigma
	}
	return spread, err
}

// standingsAt returns the standings at a time. Callers must not change them.
func (l *Leaderboard) standingsAt(mode string, at time.Time) (map[string]standing, error) {
	now, rows := l.standingsIfNow(mode, at)
	if now != nil {
		return now, nil
	}
	var match int64 // the last closed match at that time
	err := projections.Each(rows, func(scan projections.Scan) error { return scan(&match) },
		"SELECT id FROM matches WHERE mode = ? AND closed <= ? ORDER BY closed DESC, id DESC LIMIT 1", mode, at.UnixMilli())
	if err != nil {
		return nil, err
	}
	return l.past.after(rows, mode, match)
}

// standingsIfNow returns the current standings if no match was rated after the time.
// It holds the lock all the time, so that a match that is rated during the call cannot get
// into them. Otherwise it returns nil and the tables to read.
func (l *Leaderboard) standingsIfNow(mode string, at time.Time) (map[string]standing, *sql.DB) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if at.Before(l.closed[mode]) {
		return nil, l.rows
	}
	return l.standings(mode), nil
}

// The method after() returns the standings after a match. Match 0 means the time
// before the first match.
func (p *past) after(rows *sql.DB, mode string, match int64) (map[string]standing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := func(m pastStandings) bool { return m.mode == mode && m.match == match }
	if i := slices.IndexFunc(p.cached, known); i >= 0 {
		return p.cached[i].standings, nil
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
	p.cached = slices.Insert(p.cached, 0, pastStandings{mode, match, standings})
	p.cached = p.cached[:min(len(p.cached), maxPast)]
	return standings, nil
}
