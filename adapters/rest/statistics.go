package rest

import "hexarena/domain/stats"

// MatchStatistics explains the result of an ended match (docs/statistics.md).
type MatchStatistics struct {
	MatchID string `json:"matchId"`
	stats.Match
}

// WinProbability estimates each seat's chance to win an ended match, at each turn.
type WinProbability struct {
	MatchID  string          `json:"matchId"`
	Playouts int             `json:"playouts" doc:"The number of play-outs at each turn."`
	Outlooks []stats.Outlook `json:"outlooks" nullable:"false"`
}

// Results counts placements in completed matches.
type Results struct {
	Games         int     `json:"games"`
	Wins          int     `json:"wins" doc:"How often the placement was 1, shared or not."`
	MeanPlacement float64 `json:"meanPlacement" doc:"0 if there are no games."`
	Places        [4]int  `json:"places" doc:"How often each placement was reached, from 1 to 4."`
}

// NewResults returns the results for a count of each placement.
func NewResults(places [4]int) Results {
	r := Results{Wins: places[0], Places: places}
	sum := 0
	for i, n := range places {
		r.Games += n
		sum += (i + 1) * n
	}
	if r.Games > 0 {
		r.MeanPlacement = float64(sum) / float64(r.Games)
	}
	return r
}

// SeatResults are the results at one seat.
type SeatResults struct {
	Seat int `json:"seat"`
	Results
}

// VersionResults are the results of one version of a bot's program.
type VersionResults struct {
	Version string `json:"version" doc:"Empty for the matches in which the bot named no version."`
	Results
}

// OpeningResults are the results with openings of some pips.
type OpeningResults struct {
	Pips int `json:"pips" doc:"The pips of the two settlements of the setup, added up."`
	Results
}

// LengthResults are a bot's results in matches of some length.
type LengthResults struct {
	From int `json:"from" doc:"The least number of turns."`
	To   int `json:"to" doc:"The greatest number of turns."`
	Results
}

// LengthCount counts the matches of some length.
type LengthCount struct {
	From    int `json:"from" doc:"The least number of turns."`
	To      int `json:"to" doc:"The greatest number of turns."`
	Matches int `json:"matches"`
}

// BotStatistics are a bot's results by seat, version, opening and length.
type BotStatistics struct {
	BotID    string           `json:"botId"`
	Seats    []SeatResults    `json:"seats" nullable:"false" doc:"The seats at which the bot has played."`
	Versions []VersionResults `json:"versions" nullable:"false" doc:"The latest 20 versions. The one that played last comes first."`
	Openings []OpeningResults `json:"openings" nullable:"false" doc:"Only matches that ended on 2026-11-26 or later count."`
	Lengths  []LengthResults  `json:"lengths" nullable:"false" doc:"Only matches that ended on 2026-11-26 or later count."`
}

// LadderStatistics are a ladder's results by seat and opening, and the lengths of its matches.
type LadderStatistics struct {
	Mode   string         `json:"mode" enum:"standard,parley"`
	Tables []TableResults `json:"tables" nullable:"false"`
}

// TableResults are the results of the matches with a number of players.
type TableResults struct {
	Players  int              `json:"players"`
	Seats    []SeatResults    `json:"seats" nullable:"false"`
	Openings []OpeningResults `json:"openings" nullable:"false" doc:"Only matches that ended on 2026-11-26 or later count."`
	Lengths  []LengthCount    `json:"lengths" nullable:"false" doc:"Only matches that ended on 2026-11-26 or later count."`
}
