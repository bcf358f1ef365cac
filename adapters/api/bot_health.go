package api

import (
	"cmp"
	"context"
	"time"

	"hexarena/adapters/rest"
	"hexarena/domain/health"
	"hexarena/domain/ladder"
	"hexarena/domain/owner"
)

// Health is the read model of the bots' health.
type Health interface {
	Of(botID string) (health.Bot, error)
}

// healthOf returns the health of a bot. If the read model has stopped, it returns nil
// instead of an error, so that owners can still manage their bots. /ready says why the
// model has stopped.
func (s *Server) healthOf(b owner.Bot) *rest.BotHealth {
	if s.Health == nil {
		return nil
	}
	h, err := s.Health.Of(b.ID)
	if err != nil {
		s.Logger.Debug("the health of a bot is unknown", "bot", b.ID, "error", err)
		return nil
	}
	out := &rest.BotHealth{State: string(h.State), Since: rest.FormatTime(b.CreatedAt), Recent: h.Recent()}
	if !h.Since.IsZero() {
		out.Since = rest.FormatTime(h.Since)
	}
	if e := h.LastError; e != nil {
		out.LastError = &rest.BotError{MatchID: e.MatchID, Seq: e.Seq, At: rest.FormatTime(e.At), Code: e.Code, Message: e.Message}
	}
	return out
}

// seatingsOf returns, by bot id, when each bot gets its next table. It leaves out bots
// whose ladder cannot be read.
func (s *Server) seatingsOf(ctx context.Context, a owner.Account, bots []owner.Bot) map[string]*rest.BotSeating {
	out := map[string]*rest.BotSeating{}
	for _, mode := range ladder.Modes {
		active := map[string]owner.Bot{}
		var candidates []ladder.Candidate
		for _, b := range bots {
			switch {
			case b.Mode != mode:
			case b.Status == owner.Active:
				active[b.ID] = b
				candidates = append(candidates, ladder.Candidate{BotID: b.ID, Registered: b.CreatedAt, StatusChanged: b.StatusSince})
			default:
				out[b.ID] = keptOut(a, b)
			}
		}
		if len(candidates) == 0 || s.Queue == nil {
			continue
		}
		places, err := s.Queue.Places(ctx, mode, candidates)
		if err != nil {
			s.Logger.Debug("it is unknown when bots get their next tables", "mode", mode, "error", err)
			continue
		}
		for i, c := range candidates {
			out[c.BotID] = s.seatingOf(active[c.BotID], places[i])
		}
	}
	return out
}

// keptOut returns the seating of a paused or suspended bot.
func keptOut(a owner.Account, b owner.Bot) *rest.BotSeating {
	out := &rest.BotSeating{State: rest.SeatingPaused, Since: rest.FormatTimeOrNull(b.StatusSince)}
	if a.Suspended || b.Suspended {
		out.State = rest.SeatingSuspended
		if why := cmp.Or(b.Why, a.Why); why != "" {
			out.Reason = &why
		}
	}
	return out
}

// Place is what a ladder knows about a bot's next table.
type Place struct {
	MatchID    string    // its unfinished match, or empty
	Ended      time.Time // the end of its latest match; zero if the bot has not played
	RestsUntil time.Time // the end of its rest after that match
}

func (s *Server) seatingOf(b owner.Bot, p Place) *rest.BotSeating {
	switch {
	case p.MatchID != "":
		return &rest.BotSeating{State: rest.SeatingPlaying, MatchID: &p.MatchID}
	case s.Now().Before(p.RestsUntil):
		return &rest.BotSeating{State: rest.SeatingResting, Since: rest.FormatTimeOrNull(p.Ended), Until: rest.FormatTimeOrNull(p.RestsUntil)}
	}
	since := b.StatusSince
	if p.RestsUntil.After(since) {
		since = p.RestsUntil
	}
	return &rest.BotSeating{State: rest.SeatingWaiting, Since: rest.FormatTimeOrNull(since)}
}
