package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"hexarena/domain/match"
	"hexarena/domain/seed"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// Matches is the projection of the list of matches.
type Matches interface {
	Get(id string) (m matches.Summary, found bool, err error)
	List(q matches.Query) (page []matches.Summary, next string, known bool, err error)
}

type matchesQuery struct {
	Mode   string `query:"mode" enum:"standard,parley"`
	Status string `query:"status" enum:"running,completed,aborted"`
	Bot    string `query:"bot" minLength:"1" doc:"Matches that this bot plays or played."`
	Before string `query:"before" minLength:"1" doc:"Continue behind this match."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" doc:"50 by default."`
}

type matchesOutput struct {
	Body struct {
		Matches []matches.Summary `json:"matches" nullable:"false"`
		Next    *string           `json:"next" doc:"The match to continue before; null when nothing older can be reached."`
	}
}

type matchPath struct {
	ID string `path:"id"`
}

// matchBody is the specification's Match, with what an auditor needs.
type matchBody struct {
	matches.Summary
	Seed       *seed.Seed          `json:"seed" doc:"Null while the match runs."`
	Replay     []match.PublicEvent `json:"replay" nullable:"false" doc:"Empty while the match runs."`
	Commitment seed.Seed           `json:"commitment"`
	Proof      *match.Proof        `json:"proof,omitempty"`
	ThinkingMs []int64             `json:"thinkingMs,omitempty" doc:"Thinking time used, by seat, once the match has ended."`
}

type matchOutput struct {
	Body matchBody
	maybePrepared
}

type framesQuery struct {
	matchPath
	After int    `query:"after" minimum:"0" doc:"Frames behind this seq alone."`
	Limit int    `query:"limit" minimum:"1" doc:"At most so many."`
	Seat  string `query:"seat" enum:"0,1,2,3,all" doc:"Of an ended match: also the cards of this seat, or of all."`
}

type framesOutput struct {
	Body framesBody
	maybePrepared
}

type framesBody struct {
	MatchID string        `json:"matchId"`
	Board   framesBoard   `json:"board"`
	Frames  []match.Frame `json:"frames" nullable:"false"`
}

// framesBoard is the part of a board that does not change.
type framesBoard struct {
	Hexes []match.Hex  `json:"hexes" nullable:"false"`
	Ports []match.Port `json:"ports" nullable:"false"`
}

// defaultPage is how many matches a page holds where the caller does not say.
const defaultPage = 50

func (s *Server) registerMatches() {
	register(s, endpoint[matchesQuery, matchesOutput]{
		id: "list-matches", method: http.MethodGet, path: "/matches", tag: "matches", summary: "Matches, newest first",
		run: s.listMatches,
	})
	register(s, endpoint[matchPath, matchOutput]{
		id: "get-match", method: http.MethodGet, path: "/matches/{id}", tag: "matches", summary: "The record of a match; its seed and replay once it has ended",
		find:   func(_ *call, in *matchPath) error { _, err := s.summary(in.ID); return err },
		tagged: true, run: s.getMatch,
	})
	register(s, endpoint[framesQuery, framesOutput]{
		id: "get-frames", method: http.MethodGet, path: "/matches/{id}/frames", tag: "matches", summary: "The public board after every event",
		find:   func(_ *call, in *framesQuery) error { _, err := s.summary(in.ID); return err },
		tagged: true, run: s.getFrames,
	})
}

func (s *Server) listMatches(_ *call, in *matchesQuery) (*matchesOutput, error) {
	page, next, known, err := s.Matches.List(matches.Query{
		Mode: in.Mode, Status: in.Status, BotID: in.Bot, Before: in.Before, Limit: cmp.Or(in.Limit, defaultPage),
	})
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, invalidQuery("before", "must be the id of a match")
	}
	out := new(matchesOutput)
	out.Body.Matches = page
	if next != "" {
		out.Body.Next = &next
	}
	return out, nil
}

func (s *Server) getMatch(c *call, in *matchPath) (*matchOutput, error) {
	summary, err := s.summary(in.ID)
	if err != nil {
		return nil, err
	}
	if summary.Status == matches.Running {
		body, err := s.matchBody(c.ctx, summary)
		return &matchOutput{Body: body}, err
	}
	l, err := s.kept.get(c.ctx, "match "+in.ID, func(ctx context.Context) (any, error) { return s.matchBody(ctx, summary) })
	return &matchOutput{maybePrepared: maybePrepared{l}}, err
}

// matchBody is the record of a match. Once that has ended it never changes: all
// of it follows from what is stored, the names too, which are those of the
// start.
func (s *Server) matchBody(ctx context.Context, summary matches.Summary) (matchBody, error) {
	h, err := s.history(ctx, summary)
	if err != nil {
		return matchBody{}, err
	}
	body := matchBody{Summary: summary, Replay: []match.PublicEvent{}, Commitment: h.Started.Commitment}
	if summary.Status != matches.Running {
		body.Seed, body.Proof = h.Seed, h.Proof
		body.Replay, body.ThinkingMs = h.Replay(), h.ThinkingMs()
	}
	return body, nil
}

func (s *Server) getFrames(c *call, in *framesQuery) (*framesOutput, error) {
	summary, err := s.summary(in.ID)
	if err != nil {
		return nil, err
	}
	running := summary.Status == matches.Running
	if in.Seat != "" && running {
		return nil, invalidQuery("seat", "hands are shown once the match has ended")
	}
	if n, err := strconv.Atoi(in.Seat); err == nil && n >= len(summary.Players) {
		return nil, invalidQuery("seat", "nobody plays at that seat")
	}
	if running {
		body, err := s.framesBody(c.ctx, summary, in)
		return &framesOutput{Body: body}, err
	}
	key := fmt.Sprintf("frames %s %d %d %s", in.ID, in.After, in.Limit, in.Seat)
	l, err := s.kept.get(c.ctx, key, func(ctx context.Context) (any, error) { return s.framesBody(ctx, summary, in) })
	return &framesOutput{maybePrepared: maybePrepared{l}}, err
}

func (s *Server) framesBody(ctx context.Context, summary matches.Summary, q *framesQuery) (framesBody, error) {
	h, err := s.history(ctx, summary)
	if err != nil {
		return framesBody{}, err
	}
	board := h.Board()
	return framesBody{summary.ID, framesBoard{board.Hexes, board.Ports}, q.frames(&h, summary.Status != matches.Running)}, nil
}

// frames are those that were asked for.
func (q *framesQuery) frames(h *frames.History, ended bool) []match.Frame {
	w := frames.Window{After: q.After, Limit: q.Limit}
	switch q.Seat {
	case "":
		return h.Frames(ended, w)
	case "all":
		return h.OpenFrames(match.AllHands, w)
	default:
		return h.OpenFrames(match.HandsOf(q.Seat[0]-'0'), w)
	}
}

// summary finds a match that has started.
func (s *Server) summary(id string) (matches.Summary, error) {
	m, found, err := s.Matches.Get(id)
	if err == nil && !found {
		err = errNotFound
	}
	return m, err
}

// history reads a match's stream. That the list and the stream contradict each
// other is our fault.
func (s *Server) history(ctx context.Context, m matches.Summary) (frames.History, error) {
	h, err := frames.Read(ctx, s.Log, m.ID)
	switch {
	case errors.Is(err, frames.ErrNoMatch):
		return h, fmt.Errorf("match %s is listed and has no stream: %w", m.ID, err)
	case err == nil && m.Status != matches.Running && !h.Ended():
		return h, fmt.Errorf("match %s is %s and its stream has no end", m.ID, m.Status)
	}
	return h, err
}
