package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hexarena/adapters/admin"
	"hexarena/adapters/matchmaker"
	"hexarena/adapters/referee"
	"hexarena/adapters/secrets"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// Adapters for operators' orders.

// The method operators() returns the part of the arena that carries out operators'
// orders.
func (a *arena) operators() *admin.Server {
	return admin.New(admin.Options{
		Log: a.log, Accounts: a.accounts, Directory: a.directory, Player: adminPlayer{a}, Logger: a.logger, Outage: a.outage,
	})
}

// player seats bots and plays matches under one lease.
type player struct {
	referee *referee.Referee
	tick    *matchmaker.Matchmaker
	ladders []*matchmaker.Ladder
	trials  *trialPlayer
}

// The method interrupt() stops all matches and trials until the next tick.
func (p *player) interrupt() {
	p.referee.Interrupt()
	p.trials.referee.Interrupt()
}

// adminPlayer implements admin.Player.
type adminPlayer struct{ *arena }

func (o adminPlayer) Running() (int, bool) {
	p := o.playing.Load()
	if p == nil {
		return 0, false
	}
	return p.referee.Running(), true
}

func (o adminPlayer) WithSeatingPaused(f func()) {
	if p := o.playing.Load(); p != nil {
		p.tick.WithSeatingPaused(f)
		return
	}
	f()
}

func (o adminPlayer) Abort(ctx context.Context, matchID, reason, request string) error {
	p := o.playing.Load()
	if p == nil {
		return admin.ErrNotPlaying
	}
	seating, err := p.unfinished(ctx, matchID)
	_, known, listErr := o.matches.Get(matchID)
	switch err = cmp.Or(err, listErr); {
	case err != nil:
		return err
	case seating.MatchID == "" && known:
		return admin.ErrMatchOver
	case seating.MatchID == "":
		return admin.ErrMatchUnknown
	}
	err = p.referee.Abort(ctx, seating, referee.Order{Reason: reason, Request: request})
	switch {
	case errors.Is(err, referee.ErrOver):
		return admin.ErrMatchOver
	case errors.Is(err, referee.ErrNotPlaying):
		return errors.Join(admin.ErrNotPlaying, err)
	}
	return err
}

// The method unfinished() returns the seating of an unfinished match, or the zero value
// if there is no such match.
func (p *player) unfinished(ctx context.Context, matchID string) (ladder.Seating, error) {
	for _, l := range p.ladders {
		all, err := l.Unfinished(ctx)
		if err != nil {
			return ladder.Seating{}, err
		}
		if i := slices.IndexFunc(all, func(s ladder.Seating) bool { return s.MatchID == matchID }); i >= 0 {
			return all[i], nil
		}
	}
	return ladder.Seating{}, nil
}

func (o adminPlayer) Rotate(ctx context.Context, reason string, m eventstore.Metadata) (admin.Rotation, error) {
	if o.playing.Load() == nil {
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

// MaySeat returns false while the arena is draining. It also reloads the seed
// key from the log, so that tables are seated under the current key.
func (o orders) MaySeat(ctx context.Context) (bool, error) {
	ordered, err := admin.Operations(ctx, o.log)
	if err != nil || ordered.Draining {
		return false, err
	}
	return true, o.secrets.Refresh(ctx)
}

// readyTime limits how long the response of /ready waits for the log.
const readyTime = time.Second

// The method draining() reports whether the arena is draining. If the log does not
// respond, known is false.
func (a *arena) draining(ctx context.Context) (draining, known bool) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	ordered, err := admin.Operations(ctx, a.log)
	return ordered.Draining, err == nil
}
