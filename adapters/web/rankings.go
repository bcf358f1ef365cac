package web

import (
	"slices"
	"strings"
	"sync"
	"time"

	"hexarena/adapters/rest"
)

const (
	// Decoding a ranking of largeRanking rows takes a few milliseconds. So pages may
	// show a larger ranking until it is largeRankingAge old. A smaller ranking is
	// always up to date.
	largeRanking    = 1000
	largeRankingAge = 5 * time.Second
	// A past ranking changes only if a bot gets another name or is removed.
	pastRankingAge = time.Minute
	// Reading a past ranking counts as one additional call for each pastRowsPerCall
	// rows.
	pastRowsPerCall = 500
	// maxRankings is the number of stored rankings. A ranking of 10,000 bots uses
	// about 3 MB.
	maxRankings = 8
)

// ranking is a decoded leaderboard. Its fields never change.
type ranking struct {
	path   string
	readAt time.Time
	past   bool
	rows   []row
	names  []string           // of the bots, in lower case
	byBot  map[string]int     // indexes of rows
	spread map[string]float64 // see Options.Spread
}

// find returns the row of a bot.
func (k *ranking) find(botID string) (row, bool) {
	i, ok := k.byBot[botID]
	if !ok {
		return row{}, false
	}
	return k.rows[i], true
}

// The method matching() returns the indexes of the rows whose bot's or owner's name
// contains the filter text. The owner's name begins with @.
func (k *ranking) matching(filter string) []int {
	text, atStart := strings.CutPrefix(strings.ToLower(filter), "@")
	found := make([]int, 0, len(k.rows))
	for i, r := range k.rows {
		ofOwner := r.Owner != "" && (!atStart && strings.Contains(r.Owner, text) || strings.HasPrefix(r.Owner, text))
		if ofOwner || strings.Contains(k.names[i], text) {
			found = append(found, i)
		}
	}
	return found
}

// The method fresh() reports whether pages may show the ranking. k may be nil.
func (k *ranking) fresh(now time.Time) bool {
	switch {
	case k == nil:
		return false
	case k.past:
		return now.Sub(k.readAt) < pastRankingAge
	}
	return len(k.rows) >= largeRanking && now.Sub(k.readAt) < largeRankingAge
}

// rankingCache stores the rankings that pages showed last. It is safe for
// concurrent use, and the zero value is an empty cache. It reads one ranking at a
// time, so that requests cannot use all processors.
type rankingCache struct {
	reading sync.Mutex

	mu     sync.Mutex
	stored []*ranking // the newest last
}

// find returns the stored ranking, or nil.
func (c *rankingCache) find(path string) *ranking {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.stored, func(k *ranking) bool { return k.path == path })
	if i < 0 {
		return nil
	}
	return c.stored[i]
}

func (c *rankingCache) store(k *ranking) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = slices.DeleteFunc(c.stored, func(old *ranking) bool { return old.path == k.path })
	c.stored = append(c.stored, k)
	c.stored = c.stored[max(0, len(c.stored)-maxRankings):]
}

// The method ranking() returns a mode's ranking at a time (RFC 3339; empty means now).
// It stores errors in p.err, like read(), and then returns an empty ranking.
func (p *pageRequest) ranking(mode, at string) *ranking {
	if p.err == nil {
		var k *ranking
		if k, p.err = p.loadRanking(mode, at); p.err == nil {
			return k
		}
	}
	return &ranking{}
}

// loadRanking returns a stored ranking, or reads it. If it has to read a large past
// ranking, it counts the page as additional calls.
func (p *pageRequest) loadRanking(mode, at string) (*ranking, error) {
	c, path := &p.server.rankings, leaderboardPath(mode, at)
	if k := c.find(path); k.fresh(p.server.Now()) {
		return k, nil
	}
	if at != "" {
		if err := p.countPastRanking(mode); err != nil {
			return nil, err
		}
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	if k := c.find(path); k.fresh(p.server.Now()) {
		return k, nil // another request has read it in the meantime
	}
	k, err := p.readRanking(mode, at)
	if err == nil {
		c.store(k)
	}
	return k, err
}

// countPastRanking counts a read of a past ranking. A past ranking has about as many
// rows as the ranking that pages showed last.
func (p *pageRequest) countPastRanking(mode string) (err error) {
	last := p.server.rankings.find(leaderboardPath(mode, ""))
	if last == nil {
		if last, err = p.loadRanking(mode, ""); err != nil {
			return err
		}
	}
	return p.heavy(len(last.rows) / pastRowsPerCall)
}

// readRanking reads a ranking from the API.
func (p *pageRequest) readRanking(mode, at string) (*ranking, error) {
	k := &ranking{path: leaderboardPath(mode, at), readAt: p.server.Now(), past: at != ""}
	var board rest.Leaderboard
	if err := p.get(k.path, &board); err != nil {
		return nil, err
	}
	k.rows, k.byBot, k.spread = board.Rows, make(map[string]int, len(board.Rows)), p.server.Spread(mode, at)
	for i, r := range board.Rows {
		k.names = append(k.names, strings.ToLower(r.Name))
		k.byBot[r.BotID] = i
	}
	return k, nil
}
