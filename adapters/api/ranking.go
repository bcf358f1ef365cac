package api

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"hexarena/adapters/rest"
)

// Encoding a ranking of largeRanking rows takes about ten milliseconds. Larger rankings
// are encoded in the background. Until the encoding is done, callers get the previous
// ranking. But if it has been out of date for rankingStale, they wait for the new one.
const (
	largeRanking = 1000
	rankingStale = 500 * time.Millisecond
)

// The type rankings stores the encoded ranking of each mode, both plain and compressed.
// It is safe for concurrent use.
type rankings struct {
	making singleflight.Group

	mu     sync.Mutex
	byMode map[string]*ranking
}

// ranking is an encoded ranking. It is up to date until the leaderboard's
// version changes.
type ranking struct {
	*response
	version uint64
	rows    int
	current time.Time // when this ranking was last up to date; guarded by rankings.mu
}

// get returns a mode's ranking.
func (k *rankings) get(ctx context.Context, mode string, board Leaderboard) (*ranking, error) {
	version, err := board.Version()
	if err != nil {
		return nil, err
	}
	stored, state := k.find(mode, version)
	if state == rankingCurrent {
		return stored, nil
	}
	for {
		result := k.making.DoChan(mode, func() (any, error) { return k.make(mode, board) })
		if state == rankingUsable {
			return stored, nil
		}
		made, err := await[*ranking](ctx, result)
		if err != nil || made.version >= version {
			return made, err
		} // this build began before the call of get; the next build will be new enough
	}
}

// These constants are the states of a stored ranking.
const (
	rankingPast = iota
	rankingUsable
	rankingCurrent
)

func (k *rankings) find(mode string, version uint64) (stored *ranking, state int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stored = k.byMode[mode]
	switch {
	case stored == nil:
		return nil, rankingPast
	case stored.version == version:
		stored.current = time.Now()
		return stored, rankingCurrent
	case stored.rows >= largeRanking && time.Since(stored.current) < rankingStale:
		return stored, rankingUsable
	}
	return stored, rankingPast
}

func (k *rankings) make(mode string, board Leaderboard) (*ranking, error) {
	version, err := board.Version()
	if err != nil {
		return nil, err
	}
	current := time.Now()
	rows, err := board.Rows(mode)
	if err != nil {
		return nil, err
	}
	plain, err := encodeJSON(rest.Leaderboard{Mode: mode, Rows: rows})
	if err != nil {
		return nil, err
	}
	encoded := newResponse("application/json", revalidated, plain)
	encoded.plain = plain
	made := &ranking{response: encoded, version: version, rows: len(rows), current: current}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byMode == nil {
		k.byMode = map[string]*ranking{}
	}
	if stored := k.byMode[mode]; stored == nil || stored.version <= version {
		k.byMode[mode] = made
	}
	return made, nil
}
