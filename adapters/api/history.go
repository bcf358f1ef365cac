package api

import (
	"net/http"
	"time"

	"hexarena/projections/leaderboard"
)

// BotHistory is a bot's history, and what it is called today.
type BotHistory struct {
	leaderboard.History
	Name  string
	Owner string // the handle
}

type historyQuery struct {
	ID      string `path:"id"`
	Aborted string `query:"aborted" enum:"true,false" doc:"true: the aborted matches in place of the completed ones."`

	history BotHistory // what was found
}

// point is a match of a bot's; what is left out of an aborted one may be absent.
type point struct {
	MatchID   string   `json:"matchId"`
	EndedAt   string   `json:"endedAt"`
	Placement *int     `json:"placement,omitempty"`
	Seat      int      `json:"seat"`
	Rating    *float64 `json:"rating,omitempty"`
	Mu        *float64 `json:"mu,omitempty"`
	Sigma     *float64 `json:"sigma,omitempty"`
}

type historyOutput struct{ Body historyBody }

type historyBody struct {
	BotID          string  `json:"botId"`
	Name           string  `json:"name"`
	Owner          string  `json:"owner"`
	Mode           string  `json:"mode"`
	AbortedMatches int     `json:"abortedMatches"`
	Points         []point `json:"points" nullable:"false"`
}

func (s *Server) registerHistory() {
	register(s, endpoint[historyQuery, historyOutput]{
		id: "get-bot-history", method: http.MethodGet, path: "/bots/{id}/history", tag: "leaderboard", summary: "What a bot's matches did to its rating",
		find: s.findHistory, run: getHistory,
	})
}

// findHistory finds bots that have begun a match, removed ones too: of others
// nobody but their owners knows.
func (s *Server) findHistory(_ *call, in *historyQuery) error {
	h, ok, err := s.Leaderboard.History(in.ID)
	switch {
	case err != nil:
		return err
	case !ok:
		return errNotFound
	}
	in.history = h
	return nil
}

func getHistory(_ *call, in *historyQuery) (*historyOutput, error) {
	h := in.history
	body := historyBody{
		BotID: in.ID, Name: h.Name, Owner: h.Owner, Mode: h.Mode, AbortedMatches: len(h.Aborted), Points: []point{},
	}
	if in.Aborted == "true" {
		for _, m := range h.Aborted {
			body.Points = append(body.Points, point{MatchID: m.MatchID, EndedAt: formatTime(m.EndedAt), Seat: m.Seat})
		}
		return &historyOutput{body}, nil
	}
	for _, p := range h.Points {
		displayed := p.Displayed()
		body.Points = append(body.Points, point{
			MatchID: p.MatchID, EndedAt: formatTime(p.EndedAt), Placement: &p.Placement, Seat: p.Seat,
			Rating: &displayed, Mu: &p.Mu, Sigma: &p.Sigma,
		})
	}
	return &historyOutput{body}, nil
}

// exampleHistory is the bot of the examples after one match.
func exampleHistory() *historyOutput {
	place, displayed, mu, sigma := 1, 3.1, 27.63, 8.18
	return &historyOutput{historyBody{
		BotID: exampleBot, Name: "Lovelace", Owner: "ada", Mode: "standard", AbortedMatches: 1,
		Points: []point{{
			MatchID: exampleID, EndedAt: formatTime(exampleTime.Add(4 * time.Minute)), Placement: &place, Seat: 2,
			Rating: &displayed, Mu: &mu, Sigma: &sigma,
		}},
	}}
}
