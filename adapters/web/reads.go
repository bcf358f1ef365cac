package web

import (
	"net/http"
	"net/url"
	"time"

	"hexarena/adapters/rest"
)

type (
	row     = rest.LeaderboardRow
	player  = rest.MatchPlayer
	summary = rest.MatchSummary
)

// history lists a bot's completed matches, so its points have all fields.
type history struct {
	rest.BotHistory
	Points []point `json:"points"`
}

// point is a bot's rating after one match.
type point struct {
	EndedAt   string
	Rating    float64 // as shown on the leaderboard: mu - 3 sigma
	Mu, Sigma float64
}

// query contains the query parameters of a call or of a link to a page.
type query map[string]string

// The method after() returns path, followed by the parameters that have a value.
func (q query) after(path string) string {
	values := url.Values{}
	for name, value := range q {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// The method read() calls get() for data that a page cannot do without. After an error,
// later reads do nothing, and render returns the error. Only a handler that cannot
// continue without the data has to check pageRequest.err itself.
func (p *pageRequest) read(path string, into any) {
	if p.err == nil {
		p.err = p.get(path, into)
	}
}

// The method find() calls get() for optional data of a page. It reports whether the API
// returned the data. It returns false if the data does not exist, if this reader
// may not see it, or if the API fails.
func (p *pageRequest) find(path string, into any) bool {
	if p.err != nil {
		return false
	}
	err := p.get(path, into)
	if _, refused := refusalOf(err); refused {
		return false
	}
	p.err = err
	return err == nil
}

// The method registered() returns a bot that may not have played yet. If the bot does not
// exist, or if the arena cannot tell at the moment, the error is a *Refusal.
func (p *pageRequest) registered(id string) (Bot, error) {
	switch b, found, err := p.server.Registered(id); {
	case found:
		return b, nil
	case err != nil:
		p.server.Logger.Error("page failed", "path", p.r.URL.Path, "error", err)
		return Bot{}, refused(http.StatusServiceUnavailable, "The arena cannot look up this bot at the moment. Try again later.")
	}
	return Bot{}, refused(http.StatusNotFound, "This bot does not exist.")
}

// leaderboardPath returns the path of a mode's ranking at a time (RFC 3339; empty means
// now).
func leaderboardPath(mode, at string) string {
	return query{"mode": mode, "at": at}.after("/leaderboard")
}

func (p *pageRequest) matches(q query) rest.Matches {
	var page rest.Matches
	p.read(q.after("/matches"), &page)
	return page
}

// runningMatch reads the match that a bot is playing, if any.
func (p *pageRequest) runningMatch(botID string) []summary {
	return p.matches(query{"bot": botID, "status": "running", "limit": "1"}).Matches
}

// playerOf returns the player entry of a bot in a match. If the bot did not play,
// the entry's seat is -1.
func playerOf(m summary, botID string) player {
	for _, p := range m.Players {
		if p.BotID == botID {
			return p
		}
	}
	return player{Seat: -1}
}

// parseTime parses a time in a response from the API. For any other text, it returns
// the zero time.
func parseTime(text string) time.Time {
	t, _ := time.Parse(time.RFC3339, text)
	return t
}
