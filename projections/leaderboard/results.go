package leaderboard

import (
	"database/sql"

	"hexarena/domain/game"
	"hexarena/domain/ladder"
	"hexarena/projections"
)

// results counts the placements of a mode's completed matches, by number of players, seat
// and placement. All three are indexes; a placement begins at 0.
type results [game.MaxSeats + 1][game.MaxSeats][game.MaxSeats]int

// The method count() counts a placement, from 1, in a match with a number of players. It
// leaves out tables larger than the rules allow. The caller must hold l.mu.
func (l *Leaderboard) count(mode string, players, seat, placement int) {
	if players > game.MaxSeats {
		return
	}
	r := l.results[mode]
	if r == nil {
		r = &results{}
		l.results[mode] = r
	}
	r[players][seat][placement-1]++
	l.counted = true
}

// Results counts a mode's placements in completed matches with a number of players,
// separately for each seat. It has one tally for each seat, even before the first match.
func (l *Leaderboard) Results(mode string, players int) []SeatTally {
	l.mu.RLock()
	defer l.mu.RUnlock()
	r := l.results[mode]
	if r == nil {
		r = &results{}
	}
	tallies := make([]SeatTally, players)
	for seat := range tallies {
		t := SeatTally{Seat: seat, Places: r[players][seat]}
		for _, n := range t.Places {
			t.Games += n
		}
		tallies[seat] = t
	}
	return tallies
}

func (l *Leaderboard) loadResults(rows *sql.DB) error {
	err := projections.Each(rows, func(scan projections.Scan) error {
		var mode string
		var players, seat, placement, n int
		if err := scan(&mode, &players, &seat, &placement, &n); err != nil {
			return err
		}
		l.count(mode, players, seat, placement)
		l.results[mode][players][seat][placement-1] = n
		return nil
	}, "SELECT mode, players, seat, placement, n FROM results")
	l.counted = false
	return err
}

// storeResults writes the results, if they have changed. The caller must hold l.mu.
func (l *Leaderboard) storeResults(tx *projections.Tx) error {
	if !l.counted {
		return nil
	}
	for _, mode := range ladder.Modes {
		r := l.results[mode]
		if r == nil {
			continue
		}
		for players := range r {
			for seat := range r[players] {
				for place, n := range r[players][seat] {
					if n == 0 {
						continue
					}
					if err := tx.Exec("INSERT OR REPLACE INTO results (mode, players, seat, placement, n) VALUES (?, ?, ?, ?, ?)", mode, players, seat, place+1, n); err != nil {
						return err
					}
				}
			}
		}
	}
	l.counted = false
	return nil
}
