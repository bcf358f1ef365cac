package api

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"hexarena/projections/leaderboard"
)

// A ranking of so many rows takes some ten milliseconds to make: it is made
// beside the answers, which meanwhile are those of the one before, as long as
// that one was up to date so lately.
const (
	largeRanking = 1000
	rankingStale = 500 * time.Millisecond
)

// rankings keeps each mode's ranking, encoded and compressed. It is safe for
// concurrent use.
type rankings struct {
	making singleflight.Group

	mu     sync.Mutex
	byMode map[string]*ranking
}

// ranking is an answer that holds until its version has passed.
type ranking struct {
	*lasting
	version uint64
	rows    int
	current time.Time // when it last was up to date; guarded by rankings.mu
}

// write implements prepared.
func (r *ranking) write(c *call, status int) { r.send(c, status, "no-cache") }

// of returns a mode's ranking.
func (k *rankings) of(ctx context.Context, mode string, board Leaderboard) (*ranking, error) {
	version, err := board.Version()
	if err != nil {
		return nil, err
	}
	kept, state := k.find(mode, version)
	if state == rankingCurrent {
		return kept, nil
	}
	for {
		result := k.making.DoChan(mode, func() (any, error) { return k.make(mode, board) })
		if state == rankingUsable {
			return kept, nil
		}
		select {
		case r := <-result:
			if r.Err != nil {
				return nil, r.Err
			}
			if made := r.Val.(*ranking); made.version >= version {
				return made, nil
			} // that one was begun before this call: the next is not
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// What may be done with the ranking that is kept.
const (
	rankingPast = iota
	rankingUsable
	rankingCurrent
)

func (k *rankings) find(mode string, version uint64) (kept *ranking, state int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept = k.byMode[mode]
	switch {
	case kept == nil:
		return nil, rankingPast
	case kept.version == version:
		kept.current = time.Now()
		return kept, rankingCurrent
	case kept.rows >= largeRanking && time.Since(kept.current) < rankingStale:
		return kept, rankingUsable
	}
	return kept, rankingPast
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
	answer, err := newLasting(leaderboardBody{Mode: mode, Rows: rows})
	if err != nil {
		return nil, err
	}
	made := &ranking{lasting: answer, version: version, rows: len(rows), current: current}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byMode == nil {
		k.byMode = map[string]*ranking{}
	}
	if kept := k.byMode[mode]; kept == nil || kept.version <= version {
		k.byMode[mode] = made
	}
	return made, nil
}

// leaderboardBody is what a ranking is answered as.
type leaderboardBody struct {
	Mode string            `json:"mode" enum:"standard,parley"`
	Rows []leaderboard.Row `json:"rows" nullable:"false"`
}
