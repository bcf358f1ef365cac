package web

import (
	"net/http"
	"net/url"
	"time"

	"hexarena/adapters/rest"
)

// These types hold the parts of the API's answers that pages show.

type (
	row    = rest.LeaderboardRow
	player = rest.MatchPlayer
)

type summary struct{ rest.MatchSummary }

// Of returns a bot's player in the match; its seat is -1 if the bot did not play.
func (m summary) Of(botID string) player {
	for _, p := range m.Players {
		if p.BotID == botID {
			return p
		}
	}
	return player{Seat: -1}
}

type matchPage struct {
	Matches []summary `json:"matches"`
	Next    *string   `json:"next"`
}

// point is a bot's rating after one match.
type point struct {
	MatchID   string  `json:"matchId"`
	EndedAt   string  `json:"endedAt"`
	Placement int     `json:"placement"`
	Seat      int     `json:"seat"`
	Rating    float64 `json:"rating"` // as shown on the leaderboard: mu - 3 sigma
	Mu        float64 `json:"mu"`
	Sigma     float64 `json:"sigma"`
}

type history struct {
	BotID          string  `json:"botId"`
	Name           string  `json:"name"`
	Owner          string  `json:"owner"`
	Mode           string  `json:"mode"`
	AbortedMatches int     `json:"abortedMatches"`
	Points         []point `json:"points"`
}

// leaderboard returns a mode's ranking at a time (RFC 3339; empty means now).
func (p *pageRequest) leaderboard(mode, at string) ([]row, error) {
	q := url.Values{"mode": {mode}}
	if at != "" {
		q.Set("at", at)
	}
	var board rest.Leaderboard
	err := p.get("/leaderboard?"+q.Encode(), &board)
	return board.Rows, err
}

func (p *pageRequest) matches(q url.Values) (matchPage, error) {
	var page matchPage
	err := p.get("/matches?"+q.Encode(), &page)
	return page, err
}

// runningMatch returns the match that a bot plays now, if any.
func (p *pageRequest) runningMatch(botID string) ([]summary, error) {
	page, err := p.matches(url.Values{"bot": {botID}, "status": {"running"}, "limit": {"1"}})
	return page.Matches, err
}

// isNotFound reports whether the API answered 404.
func isNotFound(err error) bool {
	r, ok := refusalOf(err)
	return ok && r.Status == http.StatusNotFound
}

// parseTime parses a time of the API. It returns the zero time for any other text.
func parseTime(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}
