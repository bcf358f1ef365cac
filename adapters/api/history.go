package api

import (
	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/projections/leaderboard"
)

// BotHistory contains a bot's history, its current name, and the current handle of its
// owner.
type BotHistory struct {
	leaderboard.History
	Name  string
	Owner string
}

// A request for a history counts as one additional call for every historyPerCall
// matches that the bot has completed.
const historyPerCall = 2000

type historyQuery struct {
	ID      string `path:"id"`
	Aborted string `query:"aborted" enum:"true,false" doc:"If true, list the aborted matches instead of the completed ones."`
	Version string `query:"version" minLength:"1" doc:"If set, list only the matches in which the bot named exactly this version."`

	history BotHistory // set by find
}

// find loads the history of a bot that has started a match, even if the bot has been
// removed. It returns an error for any other bot, because only the owner may see a bot
// that has not started a match.
func (q *historyQuery) find(c *call) (err error) {
	if err := c.heavy(c.server.Leaderboard.Games(q.ID) / historyPerCall); err != nil {
		return err
	}
	var ok bool
	q.history, ok, err = c.server.Leaderboard.History(q.ID)
	if err == nil && !ok {
		err = problem.ErrNotFound
	}
	return err
}

// The method lists() reports whether the query asks for the matches of a version.
func (q *historyQuery) lists(version string) bool { return q.Version == "" || q.Version == version }

func (s *Server) getHistory(_ *call, in *historyQuery) (rest.BotHistory, error) {
	h := in.history
	out := rest.BotHistory{
		BotID: in.ID, Name: h.Name, Owner: h.Owner, Mode: h.Mode, AbortedMatches: len(h.Aborted), Points: []rest.HistoryPoint{},
	}
	if in.Aborted == "true" {
		for _, m := range h.Aborted {
			if !in.lists(m.Played.Version) {
				continue
			}
			out.Points = append(out.Points, rest.HistoryPoint{MatchID: m.MatchID, EndedAt: rest.FormatTime(m.EndedAt), Seat: m.Seat, Reason: m.Reason, MatchSeat: m.Played})
		}
		return out, nil
	}
	for _, p := range h.Points {
		if !in.lists(p.Played.Version) {
			continue
		}
		displayed := p.Displayed()
		out.Points = append(out.Points, rest.HistoryPoint{
			MatchID: p.MatchID, EndedAt: rest.FormatTime(p.EndedAt), Placement: &p.Placement, Seat: p.Seat,
			Rating: &displayed, Mu: &p.Mu, Sigma: &p.Sigma, MatchSeat: p.Played,
		})
	}
	return out, nil
}
