package api

import (
	"context"
	"errors"
	"slices"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/owner"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
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
	if out.Decisions, err = s.closedDecisions(c, in.ID, m); err != nil {
		return out, err
	}
	out.Decisions = slices.DeleteFunc(out.Decisions, func(d rest.Decision) bool { return d.Seq <= in.After })
	if in.Limit > 0 {
		out.Decisions = out.Decisions[:min(in.Limit, len(out.Decisions))]
	}
	return out, nil
}

// closedDecisions returns the decisions of one of the caller's bots in a match. It
// refuses other owners' bots.
func (s *Server) closedDecisions(c *call, botID string, m matches.Summary) ([]rest.Decision, error) {
	h, err := s.matchHistory(c.ctx, m)
	if err != nil {
		return nil, err
	}
	seat, ok := h.SeatOf(botID)
	switch {
	case !ok:
		return nil, problem.ErrNotFound
	case h.Started.Seats[seat].OwnerID != c.account.ID:
		return nil, owner.ErrBotUnknown
	}
	details, err := frames.ReadDetails(c.ctx, s.Log, m.ID)
	if err != nil {
		return nil, err
	}
	return h.Decisions(seat, s.serverSeed(c.ctx, &h), details), nil
}

// serverSeed returns the server seed of a running match. It returns nil if this process
// does not have the seed key, or if the match has ended, because its stream then
// contains the seed.
func (s *Server) serverSeed(ctx context.Context, h *frames.History) *seed.Seed {
	if s.SeedKey == nil || h.Proof != nil {
		return nil
	}
	key, ok := s.SeedKey(ctx, h.Started.Table.SeedKey)
	if !ok {
		return nil
	}
	share := seed.Server(key, h.Started.MatchID)
	return &share
}
