package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/eventstore"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// Matches is the projection of the match list.
type Matches interface {
	Get(id string) (m matches.Summary, found bool, err error)
	// Voided finds a match that the ladder voided before the match started.
	Voided(id string) (mode, reason string, found bool, err error)
	List(q matches.Query) (page []matches.Summary, next string, known bool, err error)
	// From returns a bot's matches, oldest first. The parameter first is the id of the
	// first match to return, or empty to begin with the oldest.
	From(botID, first string, limit int) (page []matches.Summary, known bool, err error)
}

type matchesQuery struct {
	Mode   string `query:"mode" enum:"standard,parley"`
	Status string `query:"status" enum:"running,completed,aborted"`
	Bot    string `query:"bot" minLength:"1" doc:"Return only matches of this bot."`
	Rival  string `query:"rival" minLength:"1" doc:"Return only matches in which this bot played against the bot in the parameter bot."`
	From   string `query:"from" minLength:"1" format:"date" doc:"Return only matches that started on this day (UTC) or later."`
	To     string `query:"to" minLength:"1" format:"date" doc:"Return only matches that started on this day (UTC) or earlier."`
	Before string `query:"before" minLength:"1" doc:"Return only matches older than the match with this id."`
	After  string `query:"after" minLength:"1" doc:"Return only matches newer than the match with this id, the oldest first. Cannot be used with before."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" doc:"The maximum number of matches. The default is 50."`
}

type matchPath struct {
	ID string `path:"id"`
}

func (p *matchPath) find(c *call) error {
	_, err := c.server.summary(p.ID)
	return err
}

type framesQuery struct {
	matchPath
	framesWindow
}

// framesWindow selects frames of a match or a trial.
type framesWindow struct {
	After int    `query:"after" minimum:"0" doc:"Return only frames after this seq."`
	Limit int    `query:"limit" minimum:"1" doc:"The maximum number of frames."`
	Seat  string `query:"seat" enum:"0,1,2,3,all" doc:"For an ended match, also include the cards of this seat, or of all seats."`
}

// If the frames of an ended match are not cached, a request for them counts as
// framesCalls additional calls.
const framesCalls = 2

// framesTime is how long the frames of a running match wait for the log before they come
// from the last read.
const framesTime = 2 * time.Second

// defaultPage is the number of matches in a response if the caller sets no limit.
const defaultPage = 50

func (s *Server) listMatches(_ *call, in *matchesQuery) (out rest.Matches, err error) {
	if err := in.check(); err != nil {
		return out, err
	}
	page, next, known, err := s.Matches.List(matches.Query{
		Mode: in.Mode, Status: in.Status, BotID: in.Bot, RivalID: in.Rival, From: in.From, To: in.To,
		Before: in.Before, After: in.After, Limit: cmp.Or(in.Limit, defaultPage),
	})
	if err == nil && !known {
		field := "before"
		if in.After != "" {
			field = "after"
		}
		err = problem.InvalidQuery(field, "must be the id of a match")
	}
	out.Matches = page
	if next != "" {
		out.Next = &next
	}
	return out, err
}

// The method check() returns an error if the parameters do not fit together, or if a day is
// not valid.
func (in *matchesQuery) check() error {
	for name, day := range map[string]string{"from": in.From, "to": in.To} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return problem.InvalidQuery(name, "must be a day, such as 2026-09-06")
		}
	}
	switch {
	case in.Rival != "" && in.Bot == "":
		return problem.InvalidQuery("rival", "needs the parameter bot")
	case in.Rival != "" && in.Rival == in.Bot:
		return problem.InvalidQuery("rival", "must be another bot")
	case in.After != "" && in.Before != "":
		return problem.InvalidQuery("after", "cannot be used with before")
	}
	return nil
}

func (s *Server) getMatch(c *call, in *matchPath) (out maybeEncoded[rest.Match], err error) {
	summary, err := s.summary(in.ID)
	if err != nil {
		return out, err
	}
	return answerMatch(c, summary, "match "+in.ID, func(ctx context.Context) (rest.Match, error) { return s.matchBody(ctx, summary) })
}

// answerMatch returns the result of build. After the match has ended, the
// result never changes, so answerMatch caches it under key.
func answerMatch[T any](c *call, m matches.Summary, key string, build func(context.Context) (T, error)) (out maybeEncoded[T], err error) {
	if m.Status == matches.Running {
		out.value, err = build(c.ctx)
		return out, err
	}
	out.encoded, err = c.server.responses.get(c.ctx, key, func(ctx context.Context) (any, error) { return build(ctx) })
	return out, err
}

// matchBody returns the record of a match. The record depends only on stored events,
// and shows the names that the bots had when the match started. After the match has
// ended, the record never changes.
//
// The record of a running match needs nothing from the match's stream that the live
// boards do not have. So it is served even while the log is unavailable.
func (s *Server) matchBody(ctx context.Context, summary matches.Summary) (rest.Match, error) {
	if summary.Status == matches.Running {
		if _, commitment, ok := s.Live.Started(summary.ID); ok {
			m := rest.NewMatch(summary, &frames.History{Started: match.Started{Commitment: commitment}})
			m.StaleSeconds = s.stale(0)
			return m, nil
		}
	}
	h, err := s.matchHistory(ctx, summary)
	if err != nil {
		return rest.Match{}, err
	}
	return rest.NewMatch(summary, &h), nil
}

func (s *Server) getFrames(c *call, in *framesQuery) (out maybeEncoded[rest.Frames], err error) {
	summary, err := s.summary(in.ID)
	if err != nil {
		return out, err
	}
	if in.Seat != "" && summary.Status == matches.Running {
		return out, problem.InvalidQuery("seat", "is accepted only after the match has ended")
	}
	if n, err := strconv.Atoi(in.Seat); err == nil && n >= len(summary.Players) {
		return out, problem.InvalidQuery("seat", "must be all, or the number of a player's seat")
	}
	key := fmt.Sprintf("frames %s %d %d %s", in.ID, in.After, in.Limit, in.Seat)
	if summary.Status != matches.Running && c.server.responses.find(key) == nil {
		if err := c.heavy(framesCalls); err != nil {
			return out, err
		}
	}
	return answerMatch(c, summary, key, func(ctx context.Context) (rest.Frames, error) { return s.framesBody(ctx, summary, in) })
}

// framesBody returns frames of a match. If the log does not answer, the frames of a running
// match come from the last read of its stream.
func (s *Server) framesBody(ctx context.Context, summary matches.Summary, q *framesQuery) (rest.Frames, error) {
	running := summary.Status == matches.Running
	limited, cancel := ctx, func() {}
	if running {
		limited, cancel = context.WithTimeout(ctx, framesTime)
	}
	defer cancel()
	h, err := s.matchHistory(limited, summary)
	var age time.Duration
	switch {
	case running && err == nil:
		s.folded.keep(summary.ID, h)
	case running && ctx.Err() == nil && (errors.Is(err, eventstore.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)):
		if kept, at, ok := s.folded.find(summary.ID); ok {
			h, age, err = kept, time.Since(at), nil
		}
	}
	if err != nil {
		return rest.Frames{}, err
	}
	body := rest.NewFrames(summary.ID, &h, q.frames(&h, !running))
	if age > 0 {
		body.StaleSeconds = s.stale(age)
	}
	return body, nil
}

// stale returns how many seconds a response may be out of date: at least the given age,
// and at least as long as the log has been unavailable.
func (s *Server) stale(age time.Duration) float64 {
	if s.Outage != nil {
		age = max(age, s.Outage())
	}
	return age.Round(time.Second / 10).Seconds()
}

// The method frames() returns the frames of h that the query selects.
func (q *framesWindow) frames(h *frames.History, ended bool) []match.Frame {
	return h.FramesOf(q.Seat, ended, frames.Window{After: q.After, Limit: q.Limit})
}

// The variable causes maps each reason for which a ladder voids a match to an
// explanation.
var causes = map[string]string{
	ladder.WhyWallClock: "its wall clock ran out",
	ladder.WhyOperator:  "an operator ended it",
	ladder.WhyBeacon:    "the beacon's round did not arrive in time",
}

// summary finds a match that has started. If the ladder voided the match before the
// start, the error says so. The live boards may show a match that the list does not have
// yet.
func (s *Server) summary(id string) (matches.Summary, error) {
	m, found, err := s.Matches.Get(id)
	if err != nil || found {
		return m, err
	}
	if m, _, running := s.Live.Started(id); running {
		return m, nil
	}
	mode, reason, voided, err := s.Matches.Voided(id)
	switch {
	case err != nil:
		return m, err
	case voided:
		return m, problem.WithDetail(problem.ErrNotFound, fmt.Sprintf(
			"the match was voided before it started, because %s (reason: %s); GET /ladder/%s/events lists its MatchVoided event", causes[reason], reason, mode))
	}
	return m, problem.ErrNotFound
}

// matchHistory reads a match's stream. It returns an internal error if the
// stream contradicts the list of matches.
func (s *Server) matchHistory(ctx context.Context, m matches.Summary) (frames.History, error) {
	h, err := frames.Read(ctx, s.Log, m.ID)
	switch {
	case errors.Is(err, frames.ErrNoMatch):
		return h, fmt.Errorf("match %s is listed but has no stream: %w", m.ID, err)
	case err == nil && m.Status != matches.Running && !h.Ended():
		return h, fmt.Errorf("match %s is %s, but its stream has no end event", m.ID, m.Status)
	}
	return h, err
}
