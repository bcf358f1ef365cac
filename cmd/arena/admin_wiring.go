package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hexarena/adapters/admin"
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

// adminPlayer implements admin.Player.
type adminPlayer struct{ *arena }

func (o adminPlayer) Running() (int, bool) {
	if o.player == nil {
		return 0, false
	}
	return o.player.referee.Running(), true
}

func (o adminPlayer) Seats() bool { return o.seating.Load() != nil }

func (o adminPlayer) Shared() admin.Shared {
	if o.player == nil {
		return admin.Shared{}
	}
	shared := admin.Shared{Member: o.player.folder.ID, Handovers: o.player.members.Handovers(), FencedAppends: o.player.referee.Fenced()}
	secret := append(o.secrets.SeedKeyIDs(), o.secrets.MissingSeedKeyIDs()...)
	for _, m := range o.player.members.List() {
		missing := slices.DeleteFunc(slices.Clone(secret), func(id string) bool { return slices.Contains(m.SeedKeys, id) })
		shared.Members = append(shared.Members, admin.Member{
			ID: m.Member, Host: m.Host, Since: m.Since, Running: m.Running, MaxMatches: m.MaxMatches,
			Free: max(0, m.MaxMatches-m.Running), MissingSeedKeys: append([]string{}, missing...),
		})
	}
	return shared
}

func (o adminPlayer) WithSeatingPaused(f func()) {
	if s := o.seating.Load(); s != nil {
		s.tick.WithSeatingPaused(f)
		return
	}
	f()
}

func (o adminPlayer) Abort(ctx context.Context, matchID, reason, request string) error {
	if o.player == nil {
		return admin.ErrNotPlaying
	}
	seating, err := o.seatingOf(ctx, matchID)
	if err != nil {
		return err
	}
	if seating.MatchID == "" {
		_, known, err := o.matches.Get(matchID)
		if known {
			return admin.ErrMatchOver
		}
		return cmp.Or(err, admin.ErrMatchUnknown)
	}
	err = o.player.referee.Abort(ctx, seating, referee.Order{Reason: reason, Request: request})
	switch {
	case errors.Is(err, referee.ErrOver):
		return admin.ErrMatchOver
	case errors.Is(err, ladder.ErrUnknownMatch):
		return admin.ErrMatchUnknown
	case errors.Is(err, referee.ErrNotPlaying):
		return errors.Join(admin.ErrNotPlaying, err)
	}
	return err
}

// seatingOf returns the seating of an unfinished match, or the zero value if there is no
// such match.
func (o adminPlayer) seatingOf(ctx context.Context, matchID string) (ladder.Seating, error) {
	all, err := o.unfinished(ctx)
	if i := slices.IndexFunc(all, func(s ladder.Seating) bool { return s.MatchID == matchID }); i >= 0 {
		return all[i], nil
	}
	return ladder.Seating{}, err
}

func (o adminPlayer) Rotate(ctx context.Context, reason string, m eventstore.Metadata) (admin.Rotation, error) {
	switch {
	case o.player == nil:
		return admin.Rotation{}, admin.ErrNotPlaying
	case !o.Seats():
		return admin.Rotation{}, admin.ErrNotSeating
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

// readyTime limits how long the response of /ready waits for the log. A cluster that
// elects a leader usually responds within that time.
const readyTime = 3 * time.Second

// The method draining() reports whether the arena is draining.
func (a *arena) draining(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	ordered, err := admin.Operations(ctx, a.log)
	return ordered.Draining, err
}
