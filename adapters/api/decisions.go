package api

import (
	"net/http"
	"slices"

	"hexarena/adapters/api/problem"
	"hexarena/adapters/rest"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
)

type decisionsQuery struct {
	botPath
	MatchID string `path:"matchId"`
	After   int    `query:"after" minimum:"0" doc:"Only decisions that closed after this seq."`
	Limit   int    `query:"limit" minimum:"1" doc:"The maximum number of decisions."`
}

func (s *Server) registerDecisions() {
	register(s, endpoint[decisionsQuery, rest.Decisions]{
		id: "get-decisions", method: http.MethodGet, path: "/bots/{id}/matches/{matchId}/decisions", tag: "bots",
		summary: "A bot's decisions in a match, with its answers and their outcomes; only for its owner",
		scope:   owner.BotsRead, find: findDecisions, run: s.getDecisions,
	})
}

// findDecisions refuses a bot that the caller does not own, and a match that the
// bot does not play.
func findDecisions(c *call, in *decisionsQuery) error {
	if err := findBot(c, in); err != nil {
		return err
	}
	m, err := c.server.summary(in.MatchID)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(m.Players, func(p rest.MatchPlayer) bool { return p.BotID == in.ID }) {
		return problem.ErrNotFound
	}
	return nil
}

func (s *Server) getDecisions(c *call, in *decisionsQuery) (out rest.Decisions, err error) {
	m, err := s.summary(in.MatchID)
	if err != nil {
		return out, err
	}
	h, err := s.matchHistory(c.ctx, m)
	if err != nil {
		return out, err
	}
	seat, ok := h.SeatOf(in.ID)
	if !ok {
		return out, problem.ErrNotFound
	}
	out.Decisions = h.Decisions(seat, s.serverSeed(&h))
	out.Decisions = slices.DeleteFunc(out.Decisions, func(d rest.Decision) bool { return d.Seq <= in.After })
	if in.Limit > 0 {
		out.Decisions = out.Decisions[:min(in.Limit, len(out.Decisions))]
	}
	return out, nil
}

// serverSeed returns the arena's share of the seed of a match that may be
// running, or nil if this process does not have the seed key.
func (s *Server) serverSeed(h *frames.History) *seed.Seed {
	if s.SeedKey == nil {
		return nil
	}
	key, ok := s.SeedKey(h.Started.Table.SeedKey)
	if !ok {
		return nil
	}
	share := seed.Server(key, h.Started.MatchID)
	return &share
}
