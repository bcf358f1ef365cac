package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"hexarena/adapters/admin"
	"hexarena/adapters/matchmaker"
	"hexarena/adapters/referee"
	"hexarena/adapters/secrets"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// What operators order, fitted to what seats and plays here.

// operators is the arena's part that takes orders.
func (a *arena) operators() *admin.Server {
	return admin.New(admin.Options{
		Log: a.log, Accounts: a.accounts, Directory: a.directory, Player: adminPlayer{a}, Logger: a.logger,
	})
}

// seated is what seats and plays under one lease.
type seated struct {
	referee *referee.Referee
	tick    *matchmaker.Matchmaker
	ladders []*matchmaker.Ladder
}

// operated implements admin.Player.
type adminPlayer struct{ *arena }

func (o adminPlayer) Running() (int, bool) {
	s := o.seated.Load()
	if s == nil {
		return 0, false
	}
	return s.referee.Running(), true
}

func (o adminPlayer) WithSeatingPaused(f func()) {
	if s := o.seated.Load(); s != nil {
		s.tick.WithSeatingPaused(f)
		return
	}
	f()
}

func (o adminPlayer) Abort(ctx context.Context, matchID, reason, request string) error {
	s := o.seated.Load()
	if s == nil {
		return admin.ErrNotPlaying
	}
	seating, err := s.unfinished(ctx, matchID)
	_, known, listErr := o.matches.Get(matchID)
	switch err = cmp.Or(err, listErr); {
	case err != nil:
		return err
	case seating.MatchID == "" && known:
		return admin.ErrMatchOver
	case seating.MatchID == "":
		return admin.ErrMatchUnknown
	}
	err = s.referee.Abort(ctx, seating, referee.Order{Reason: reason, Request: request})
	switch {
	case errors.Is(err, referee.ErrOver):
		return admin.ErrMatchOver
	case errors.Is(err, referee.ErrNotPlaying):
		return errors.Join(admin.ErrNotPlaying, err)
	}
	return err
}

// unfinished is the seating of an unfinished match, zero if it is none.
func (s *seated) unfinished(ctx context.Context, matchID string) (ladder.Seating, error) {
	for _, l := range s.ladders {
		all, err := l.Unfinished(ctx)
		if err != nil {
			return ladder.Seating{}, err
		}
		for _, seating := range all {
			if seating.MatchID == matchID {
				return seating, nil
			}
		}
	}
	return ladder.Seating{}, nil
}

func (o adminPlayer) Rotate(ctx context.Context, reason string, m eventstore.Metadata) (admin.Rotation, error) {
	if o.seated.Load() == nil {
		return admin.Rotation{}, admin.ErrNotPlaying
	}
	r, err := o.secrets.Rotate(ctx, reason, m)
	return admin.Rotation(r), err
}

// orders implements matchmaker.Orders.
type orders struct {
	log     eventstore.Log
	secrets *secrets.Secrets
}

// MaySeat also has tables seated under the seed key that the log names now.
func (o orders) MaySeat(ctx context.Context) (bool, error) {
	ordered, err := admin.Operations(ctx, o.log)
	if err != nil || ordered.Draining {
		return false, err
	}
	return true, o.secrets.Refresh(ctx)
}

// readyTime bounds how long readiness waits for the log.
const readyTime = time.Second

// draining says whether a drain is on; unknown while the log is away.
func (a *arena) draining(ctx context.Context) (draining, known bool) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	ordered, err := admin.Operations(ctx, a.log)
	return ordered.Draining, err == nil
}
