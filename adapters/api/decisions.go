package api

import (
	"errors"
	"slices"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
)

type decisionsQuery struct {
	botPath
	MatchID string `path:"matchId"`
	After   int    `query:"after" minimum:"0" doc:"Return only decisions that closed after this seq."`
	Limit   int    `query:"limit" minimum:"1" doc:"The maximum number of decisions."`
}

// find returns an error if the bot does not play in the match. If the account does not
// have the bot, the bot may have been removed. In that case, getDecisions checks who
// owned it.
func (q *decisionsQuery) find(c *call) error {
	unknown := q.botPath.find(c)
	if unknown != nil && !errors.Is(unknown, owner.ErrBotUnknown) {
		return unknown
	}
	m, err := c.server.summary(q.MatchID)
	if err == nil && !slices.ContainsFunc(m.Players, func(p rest.MatchPlayer) bool { return p.BotID == q.ID }) {
		err = problem.ErrNotFound
	}
	if err != nil && unknown != nil {
		return unknown
	}
	return err
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
	switch {
	case !ok:
		return out, problem.ErrNotFound
	case h.Started.Seats[seat].OwnerID != c.account.ID:
		return out, owner.ErrBotUnknown
	}
	details, err := frames.ReadDetails(c.ctx, s.Log, m.ID)
	if err != nil {
		return out, err
	}
	out.Decisions = h.Decisions(seat, s.serverSeed(&h), details)
	out.Decisions = slices.DeleteFunc(out.Decisions, func(d rest.Decision) bool { return d.Seq <= in.After })
	if in.Limit > 0 {
		out.Decisions = out.Decisions[:min(in.Limit, len(out.Decisions))]
	}
	return out, nil
}

// serverSeed returns the server seed of a match, even if the match is still running. It
// returns nil if this process does not have the seed key.
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
