package leaderboard

import (
	"database/sql"

	"hexarena/domain/game"
	"hexarena/projections"
)

// resultKey names a count of placements in a mode's completed matches with a number of
// players. The value depends on what is counted: a seat, the pips of an opening, or a range
// of turns. A placement begins at 1. Ranges of turns count matches, with the placement 0.
type resultKey struct {
	mode             string
	players          int
	what             string
	value, placement int
}

// The values of resultKey.what.
const (
	bySeat    = "seat"
	byOpening = "opening"
	byLength  = "length"
)

// TurnRange is the number of turns in each range of match lengths: 1 to 20, 21 to 40 and so
// on.
const TurnRange = 20

// lengthOf returns the number of the range of a number of turns, from 0.
func lengthOf(turns int) int { return (turns - 1) / TurnRange }

// OpeningTally counts placements by the pips of the two settlements of the setup.
type OpeningTally struct {
	Pips   int
	Places [game.MaxSeats]int
}

// LengthTally counts matches, or a bot's placements, by the number of turns.
type LengthTally struct {
	From, To int // turns
	Matches  int
	Places   [game.MaxSeats]int // only of a bot
}

func newLength(value int) LengthTally {
	return LengthTally{From: value*TurnRange + 1, To: (value + 1) * TurnRange}
}

// The method count() counts a placement or a match. The caller must hold l.mu.
func (l *Leaderboard) count(k resultKey) {
	l.results[k]++
	l.counted[k] = true
}

// countSeat counts the placement of a seat, and its opening if it is known. It leaves out
// tables larger than the rules allow. The caller must hold l.mu.
func (l *Leaderboard) countSeat(mode string, p *playing, seat, placement int) {
	if len(p.seats) > game.MaxSeats {
		return
	}
	l.count(resultKey{mode, len(p.seats), bySeat, seat, placement})
	if seat < len(p.Openings) {
		l.count(resultKey{mode, len(p.seats), byOpening, p.Openings[seat], placement})
	}
}

// Results counts a mode's placements in completed matches with a number of players,
// separately for each seat. It has one tally for each seat, even before the first match.
func (l *Leaderboard) Results(mode string, players int) []SeatTally {
	l.mu.RLock()
	defer l.mu.RUnlock()
	tallies := make([]SeatTally, players)
	for seat := range tallies {
		t := SeatTally{Seat: seat}
		for i := range t.Places {
			t.Places[i] = l.results[resultKey{mode, players, bySeat, seat, i + 1}]
			t.Games += t.Places[i]
		}
		tallies[seat] = t
	}
	return tallies
}

// maxPips is the maximum of the pips of two settlements: each has at most three hexes with
// 5 pips.
const maxPips = 2 * 3 * 5

// Openings counts a mode's placements in completed matches with a number of players, by the
// pips of the opening. It leaves out matches whose openings are unknown.
func (l *Leaderboard) Openings(mode string, players int) []OpeningTally {
	l.mu.RLock()
	defer l.mu.RUnlock()
	tallies := []OpeningTally{}
	for pips := range maxPips + 1 {
		t := OpeningTally{Pips: pips}
		for i := range t.Places {
			t.Places[i] = l.results[resultKey{mode, players, byOpening, pips, i + 1}]
		}
		if t.Places != [game.MaxSeats]int{} {
			tallies = append(tallies, t)
		}
	}
	return tallies
}

// Lengths counts a mode's completed matches with a number of players, by the number of
// turns. It leaves out matches whose number of turns is unknown.
func (l *Leaderboard) Lengths(mode string, players int) []LengthTally {
	l.mu.RLock()
	defer l.mu.RUnlock()
	tallies := []LengthTally{}
	for value := range lengthOf(game.MaxTurns) + 1 {
		t := newLength(value)
		if t.Matches = l.results[resultKey{mode, players, byLength, value, 0}]; t.Matches > 0 {
			tallies = append(tallies, t)
		}
	}
	return tallies
}

// ByOpening counts a bot's placements by the pips of its openings, and ByLength by the number
// of turns. Both leave out matches for which the log does not have these facts.
func (l *Leaderboard) ByOpening(botID string) ([]OpeningTally, error) {
	tallies := []OpeningTally{}
	err := l.placesBy(botID, "s.opening", func(pips int) *[game.MaxSeats]int {
		if len(tallies) == 0 || tallies[len(tallies)-1].Pips != pips {
			tallies = append(tallies, OpeningTally{Pips: pips})
		}
		return &tallies[len(tallies)-1].Places
	})
	return tallies, err
}

// ByLength is described at ByOpening.
func (l *Leaderboard) ByLength(botID string) ([]LengthTally, error) {
	tallies := []LengthTally{}
	err := l.placesBy(botID, "m.turns", func(turns int) *[game.MaxSeats]int {
		if t := newLength(lengthOf(turns)); len(tallies) == 0 || tallies[len(tallies)-1].From != t.From {
			tallies = append(tallies, t)
		}
		return &tallies[len(tallies)-1].Places
	})
	for i := range tallies {
		for _, n := range tallies[i].Places {
			tallies[i].Matches += n
		}
	}
	return tallies, err
}

// placesBy counts a bot's placements by the value of a column, in ascending order. The
// function places returns the counts of a value.
func (l *Leaderboard) placesBy(botID, column string, places func(value int) *[game.MaxSeats]int) error {
	b, rows, ok := l.find(botID)
	if !ok {
		return nil
	}
	return projections.Each(rows, func(scan projections.Scan) error {
		var value, placement, n int
		if err := scan(&value, &placement, &n); err != nil {
			return err
		}
		places(value)[placement-1] += n
		return nil
	}, "SELECT "+column+", s.placement, count(*) FROM seats s JOIN matches m ON m.id = s.match WHERE s.bot = ? AND s.placement IS NOT NULL AND "+
		column+" IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2", b.id)
}

func (l *Leaderboard) loadResults(rows *sql.DB) error {
	return projections.Each(rows, func(scan projections.Scan) error {
		var k resultKey
		var n int
		err := scan(&k.mode, &k.players, &k.what, &k.value, &k.placement, &n)
		l.results[k] = n
		return err
	}, "SELECT mode, players, what, value, placement, n FROM results")
}

// storeResults writes the changed results. The caller must hold l.mu.
func (l *Leaderboard) storeResults(tx *projections.Tx) error {
	for k := range l.counted {
		if err := tx.Exec("INSERT OR REPLACE INTO results (mode, players, what, value, placement, n) VALUES (?, ?, ?, ?, ?, ?)",
			k.mode, k.players, k.what, k.value, k.placement, l.results[k]); err != nil {
			return err
		}
	}
	clear(l.counted)
	return nil
}
