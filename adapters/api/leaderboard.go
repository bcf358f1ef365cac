package api

import (
	"net/http"

	"hexarena/domain/ladder"
	"hexarena/projections/leaderboard"
)

// Leaderboard is the projection of the rankings.
type Leaderboard interface {
	Rows(mode string) []leaderboard.Row
}

type leaderboardQuery struct {
	Mode string `query:"mode" enum:"standard,parley" doc:"standard by default."`
}

type leaderboardOutput struct {
	Body struct {
		Mode string            `json:"mode" enum:"standard,parley"`
		Rows []leaderboard.Row `json:"rows" nullable:"false"`
	}
}

func (s *Server) registerLeaderboard() {
	register(s, endpoint[leaderboardQuery, leaderboardOutput]{
		id: "get-leaderboard", method: http.MethodGet, path: "/leaderboard", tag: "leaderboard", summary: "The ranking of a mode",
		run: func(_ *call, in *leaderboardQuery) (*leaderboardOutput, error) {
			out := new(leaderboardOutput)
			if out.Body.Mode = in.Mode; out.Body.Mode == "" {
				out.Body.Mode = ladder.Standard
			}
			out.Body.Rows = s.Leaderboard.Rows(out.Body.Mode)
			return out, nil
		},
	})
}
