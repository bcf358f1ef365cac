package api

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/google/uuid"

	"hexarena/adapters/rest"
	"hexarena/adapters/rest/problem"
	"hexarena/domain/match"
	"hexarena/domain/owner"
	"hexarena/projections/frames"
	"hexarena/projections/matches"
)

// trial is a trial of one of the caller's bots.
type trial struct {
	id      string
	bot     owner.Bot
	started bool           // whether history is set
	history frames.History // of the game
	seat    int            // the bot's seat
	details match.Details
}

// trialPath names a trial.
type trialPath struct {
	botPath
	TrialID string `path:"trialId"`
	trial   trial  // set by find
}

// find returns an error if the trial is not one of the bot's trials.
func (p *trialPath) find(c *call) (err error) {
	if err := p.botPath.find(c); err != nil {
		return err
	}
	p.trial, err = c.server.readTrial(c.ctx, c.account, p.ID, p.TrialID)
	return err
}

type trialFramesQuery struct {
	trialPath
	framesWindow
}

// orderTrial orders a trial. The process that plays matches begins the trial.
func (s *Server) orderTrial(c *call, in *botPath) (out rest.Trial, err error) {
	id := uuid.NewString()
	playing, _, _, err := s.Matches.List(matches.Query{Status: matches.Running, BotID: in.ID, Limit: 1})
	if err != nil {
		return out, err
	}
	account, err := c.change(func(a owner.Account) ([]owner.Event, error) {
		events, err := a.OrderTrial(in.ID, id, c.meta.At)
		if err == nil && len(playing) > 0 {
			err = problem.ErrBotInMatch
		}
		return events, err
	})
	if err != nil {
		return out, limitedTrial(err)
	}
	t, err := s.readTrial(c.ctx, account, in.ID, id)
	return t.body(), err
}

// If an owner has reached the limit on trials, limitedTrial translates the error. It
// returns other errors unchanged.
func limitedTrial(err error) error {
	var limit *owner.TrialLimitError
	if errors.As(err, &limit) {
		return &problem.RateLimited{Limits: []string{"10 trials"}, Within: "an hour", After: int(math.Ceil(limit.Wait.Seconds()))}
	}
	return err
}

func (s *Server) getTrial(_ *call, in *trialPath) (rest.Trial, error) { return in.trial.body(), nil }

func (s *Server) getTrialDecisions(c *call, in *trialPath) (out rest.Decisions, err error) {
	out.Decisions = []rest.Decision{}
	if t := &in.trial; t.started {
		out.Decisions = t.history.Decisions(t.seat, s.serverSeed(c.ctx, &t.history), t.details)
	}
	return out, nil
}

func (s *Server) getTrialFrames(_ *call, in *trialFramesQuery) (out rest.Frames, err error) {
	h := &in.trial.history
	switch {
	case !in.trial.started:
		return out, problem.WithDetail(problem.ErrNotFound, "the trial has no frames, because its game has not started")
	case in.Seat != "" && !h.Ended():
		return out, problem.InvalidQuery("seat", "is accepted only after the game has ended")
	}
	return rest.NewFrames(in.TrialID, h, in.frames(h, h.Ended())), nil
}

// readTrial reads a trial of a bot in an account. The account knows only the bot's
// latest trial. Earlier trials are found by their streams.
func (s *Server) readTrial(ctx context.Context, a owner.Account, botID, trialID string) (t trial, err error) {
	t = trial{id: trialID}
	t.bot, _ = a.Bot(botID)
	t.history, err = frames.ReadTrial(ctx, s.Log, trialID)
	if errors.Is(err, frames.ErrNoMatch) {
		if t.bot.Trial.ID != trialID {
			return t, problem.ErrNotFound
		}
		return t, nil
	}
	if err != nil {
		return t, err
	}
	if t.seat, t.started = t.history.SeatOf(botID); !t.started || t.history.Started.Seats[t.seat].OwnerID != a.ID {
		return t, problem.ErrNotFound
	}
	t.details, err = frames.ReadDetails(ctx, s.Log, trialID)
	return t, err
}

// body returns the trial as its owner sees it.
func (t *trial) body() rest.Trial {
	out := rest.Trial{
		ID: t.id, BotID: t.bot.ID, Mode: t.bot.Mode, Status: rest.TrialWaiting,
		Players: []rest.TrialPlayer{}, Decisions: []rest.TrialKind{}, Strikes: []rest.TrialDecision{},
	}
	if t.started {
		t.addGame(&out)
	}
	if outcome, at := t.outcome(); outcome != "" {
		out.Status, out.Outcome, out.EndedAt = rest.TrialEnded, &outcome, rest.FormatTimeOrNull(at)
	}
	return out
}

// outcome returns how and when the trial ended. It returns "" if the trial has not
// ended. A trial that is not the bot's latest has always ended.
func (t *trial) outcome() (outcome string, at time.Time) {
	latest := t.bot.Trial
	if latest.ID == t.id {
		return latest.Outcome, latest.EndedAt
	}
	if n := len(t.history.Events); n > 0 {
		at = t.history.Times[n-1]
		switch e := t.history.Events[n-1].(type) {
		case match.GameEnded:
			return owner.TrialCompleted, at
		case match.Aborted:
			return e.Why, at
		}
	}
	return owner.TrialExpired, at
}

// addGame adds the result of the game so far. The game must have started.
func (t *trial) addGame(out *rest.Trial) {
	h := &t.history
	out.Status, out.Seat, out.StartedAt = rest.TrialRunning, &t.seat, rest.FormatTimeOrNull(h.Times[0])
	for i, seat := range h.Started.Seats {
		out.Players = append(out.Players, rest.TrialPlayer{Seat: i, BotID: seat.BotID, BotName: seat.BotName})
	}
	if last, ok := h.Last(false); ok {
		out.Turns, out.Events = last.Turn, last.Seq
		for i := range out.Players {
			out.Players[i].Score = last.Scores[i]
		}
	}
	for _, e := range h.Events {
		if end, ok := e.(match.GameEnded); ok {
			for i := range out.Players {
				out.Players[i].Score, out.Players[i].Placement = end.Scores[i], &end.Placements[i]
			}
		}
	}
	t.addDecisions(out)
}
