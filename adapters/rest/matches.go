package rest

import (
	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// Matches is one page of the match list, newest first.
type Matches struct {
	Matches []MatchSummary `json:"matches" nullable:"false"`
	Next    *string        `json:"next" doc:"Send this value as the parameter \"before\" to get the next (older) page, or as \"after\" if you sent \"after\"; null on the last page."`
}

// Match is the record of a match: its summary, and the data that an auditor
// needs (docs/audit.md).
type Match struct {
	MatchSummary
	Seed       *seed.Seed          `json:"seed" doc:"Null while the match is running."`
	Replay     []match.PublicEvent `json:"replay" nullable:"false" doc:"Empty while the match is running."`
	Commitment seed.Seed           `json:"commitment"`
	Proof      *match.Proof        `json:"proof,omitempty"`
	ThinkingMs []int64             `json:"thinkingMs,omitempty" doc:"The thinking time that each seat used; absent while the match is running."`
	// StaleSeconds is set while the log is unavailable.
	StaleSeconds float64 `json:"staleSeconds,omitempty" minimum:"0" doc:"How many seconds the record may be out of date, because the arena's log is unavailable; absent otherwise."`
}

// NewMatch returns the record of a match. The summary says whether the match is running.
func NewMatch(summary MatchSummary, h *frames.History) Match {
	m := Match{MatchSummary: summary, Replay: []match.PublicEvent{}, Commitment: h.Started.Commitment}
	if summary.Status != matches.Running {
		m.Seed, m.Proof = h.Seed, h.Proof
		m.Replay, m.ThinkingMs = h.Replay(), h.ThinkingMs()
	}
	return m
}

// Frames contains the board and the frames of a match.
type Frames struct {
	MatchID string        `json:"matchId"`
	Board   BoardLayout   `json:"board"`
	Frames  []match.Frame `json:"frames" nullable:"false"`
	// StaleSeconds is set while the log is unavailable.
	StaleSeconds float64 `json:"staleSeconds,omitempty" minimum:"0" doc:"How many seconds the frames may be out of date, because the arena's log is unavailable; absent otherwise."`
}

// NewFrames returns frames of a match with its board.
func NewFrames(matchID string, h *frames.History, list []match.Frame) Frames {
	board := h.Board()
	return Frames{MatchID: matchID, Board: BoardLayout{Hexes: board.Hexes, Ports: board.Ports}, Frames: list}
}

// BoardLayout is the part of a board that does not change.
type BoardLayout struct {
	Hexes []match.Hex  `json:"hexes" nullable:"false"`
	Ports []match.Port `json:"ports" nullable:"false"`
}

// LiveMatches lists the running matches, newest first.
type LiveMatches struct {
	Matches []LiveMatch `json:"matches" nullable:"false"`
	// StaleSeconds is set while the log is unavailable.
	StaleSeconds float64 `json:"staleSeconds,omitempty" minimum:"0" doc:"How many seconds the list may be out of date, because the arena's log is unavailable; absent otherwise."`
}

// LiveFrame is the newest frame of a match.
type LiveFrame struct {
	match.Frame
	// StaleSeconds is set while the log is unavailable.
	StaleSeconds float64 `json:"staleSeconds,omitempty" minimum:"0" doc:"How many seconds the frame of a running match may be out of date, because the arena's log is unavailable; absent otherwise."`
}

// Leaderboard is the ranking of a mode.
type Leaderboard struct {
	Mode string           `json:"mode" enum:"standard,parley"`
	Rows []LeaderboardRow `json:"rows" nullable:"false"`
}

// Queue describes the bots of a mode that are waiting for a table, without naming them.
type Queue struct {
	Mode     string  `json:"mode" enum:"standard,parley"`
	Waiting  int     `json:"waiting" doc:"The number of active bots that are not in a match and have rested."`
	NextTick *string `json:"nextTick" doc:"The time of the next seating; null if the responding process does not seat tables."`
}

// BotHistory lists either the completed matches of a bot or its aborted
// matches.
type BotHistory struct {
	BotID          string         `json:"botId"`
	Name           string         `json:"name"`
	Owner          string         `json:"owner"`
	Mode           string         `json:"mode"`
	AbortedMatches int            `json:"abortedMatches"`
	Points         []HistoryPoint `json:"points" nullable:"false"`
}

// HistoryPoint is one match of a bot. For a completed match, every field except Reason
// is set. For an aborted match, the pointer fields are nil. MatchSeat is the bot's seat
// in the record of the match.
type HistoryPoint struct {
	MatchID   string   `json:"matchId"`
	EndedAt   string   `json:"endedAt"`
	Placement *int     `json:"placement,omitempty"`
	Seat      int      `json:"seat"`
	Rating    *float64 `json:"rating,omitempty"`
	Mu        *float64 `json:"mu,omitempty"`
	Sigma     *float64 `json:"sigma,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	MatchSeat
}
