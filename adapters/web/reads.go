package web

import (
	"net/http"
	"net/url"
	"time"
)

// What the API answers, as far as pages show it.

type row struct {
	Rank        int     `json:"rank"`
	BotID       string  `json:"botId"`
	Name        string  `json:"name"`
	Owner       string  `json:"owner"`
	Rating      float64 `json:"rating"`
	GamesPlayed int     `json:"gamesPlayed"`
}

type player struct {
	Seat        int      `json:"seat"`
	BotID       string   `json:"botId"`
	BotName     string   `json:"botName"`
	Placement   *int     `json:"placement"`
	RatingDelta *float64 `json:"ratingDelta"`
}

type summary struct {
	ID        string   `json:"id"`
	Mode      string   `json:"mode"`
	Status    string   `json:"status"`
	Players   []player `json:"players"`
	StartedAt string   `json:"startedAt"`
	EndedAt   *string  `json:"endedAt"`
}

// Of is the player that a bot is in the match.
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

// point is a bot after one match.
type point struct {
	MatchID   string  `json:"matchId"`
	EndedAt   string  `json:"endedAt"`
	Placement int     `json:"placement"`
	Seat      int     `json:"seat"`
	Rating    float64 `json:"rating"` // as displayed
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

// leaderboard is a mode's ranking, as of a time if one is given.
func (p *pageRequest) leaderboard(mode, at string) ([]row, error) {
	q := url.Values{"mode": {mode}}
	if at != "" {
		q.Set("at", at)
	}
	var board struct {
		Rows []row `json:"rows"`
	}
	err := p.get("/leaderboard?"+q.Encode(), &board)
	return board.Rows, err
}

func (p *pageRequest) matches(q url.Values) (matchPage, error) {
	var page matchPage
	err := p.get("/matches?"+q.Encode(), &page)
	return page, err
}

// running are the matches on now, the newest first.
func (p *pageRequest) running(mode string, limit string) ([]summary, error) {
	q := url.Values{"status": {"running"}, "limit": {limit}}
	if mode != "" {
		q.Set("mode", mode)
	}
	page, err := p.matches(q)
	return page.Matches, err
}

// missing says whether the API knows no such thing.
func missing(err error) bool {
	r, ok := refusalOf(err)
	return ok && r.Status == http.StatusNotFound
}

// parseTime reads the API's times; the zero time where there is none.
func parseTime(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}
