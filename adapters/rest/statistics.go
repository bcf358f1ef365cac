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
