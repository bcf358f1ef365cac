package rest

import "encoding/json"

// LocalMatch is the record of a match that arena play writes to a file: the record of a
// match, and the decisions of every seat.
type LocalMatch struct {
	Match
	DecisionLogs []DecisionLog `json:"decisionLogs"` // by seat
}

// DecisionLog contains the decisions of the bot at one seat.
type DecisionLog struct {
	Seat  int    `json:"seat"`
	BotID string `json:"botId"`
	Decisions
}

// LocalMatches is one page of a list of records.
type LocalMatches struct {
	Name    string         `json:"name"` // of the folder or the file
	Total   int            `json:"total"`
	Page    int            `json:"page"` // 1, 2, 3, …
	Pages   int            `json:"pages"`
	Matches []LocalSummary `json:"matches"`
}

// LocalSummary is a record in a list.
type LocalSummary struct {
	MatchSummary
	Turns int    `json:"turns"`
	Error string `json:"error,omitempty"` // why the record cannot be read; the only other field is then the id
}

// LocalDecision is one decision of a record, with the note that the bot wrote about it.
type LocalDecision struct {
	Decision
	Seat     int             `json:"seat"`
	Note     json.RawMessage `json:"note,omitempty"`     // a string, or any other JSON
	Previous int             `json:"previous,omitempty"` // the seq of the bot's previous decision; 0 for the first
	Next     int             `json:"next,omitempty"`     // the seq of the bot's next decision; 0 for the last
}

// Notes contains the notes about the decisions of a match, by decision.
type Notes struct {
	Notes map[int]json.RawMessage `json:"notes"`
}
