package api

import (
	"net/http"
	"slices"

	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

type decisionsQuery struct {
	botPath
	MatchID string `path:"matchId"`
	After   int    `query:"after" minimum:"0" doc:"Decisions that closed behind this seq alone."`
	Limit   int    `query:"limit" minimum:"1" doc:"At most so many."`
}

type decisionsOutput struct {
	Body struct {
		Decisions []frames.Decision `json:"decisions" nullable:"false"`
	}
}

func (s *Server) registerDecisions() {
	register(s, endpoint[decisionsQuery, decisionsOutput]{
		id: "get-decisions", method: http.MethodGet, path: "/bots/{id}/matches/{matchId}/decisions", tag: "bots",
		summary: "What a bot was asked in a match, what it answered, and what became of it; for its owner alone",
		scope:   owner.BotsRead, find: findDecisions, run: s.getDecisions,
	})
}

// findDecisions refuses a bot that is not one of the caller's, and a match that
// it does not play.
func findDecisions(c *call, in *decisionsQuery) error {
	if err := findBot(c, in); err != nil {
		return err
	}
	m, err := c.server.summary(in.MatchID)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(m.Players, func(p matches.Player) bool { return p.BotID == in.ID }) {
		return errNotFound
	}
	return nil
}

func (s *Server) getDecisions(c *call, in *decisionsQuery) (*decisionsOutput, error) {
	m, err := s.summary(in.MatchID)
	if err != nil {
		return nil, err
	}
	h, err := s.history(c.ctx, m)
	if err != nil {
		return nil, err
	}
	seat, ok := h.SeatOf(in.ID)
	if !ok {
		return nil, errNotFound
	}
	list := h.Decisions(seat, s.serverSeed(&h))
	list = slices.DeleteFunc(list, func(d frames.Decision) bool { return d.Seq <= in.After })
	if in.Limit > 0 {
		list = list[:min(in.Limit, len(list))]
	}
	out := new(decisionsOutput)
	out.Body.Decisions = list
	return out, nil
}

// serverSeed is the arena's share of the seed of a match that may be running,
// nil where its seed key is not at hand.
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
