package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"time"

	"hexarena/adapters/admin"
	"hexarena/adapters/housebot"
	"hexarena/adapters/lease"
	"hexarena/adapters/referee"
	"hexarena/adapters/trials"
	"hexarena/cmd/arena/houseline"
	"hexarena/domain/ladder"
	"hexarena/domain/match"
	"hexarena/projections/directory"
)

// trialPlayer plays trials under the lease.
type trialPlayer struct {
	runner  *trials.Runner
	referee *referee.Referee
}

func (t *trialPlayer) run(ctx context.Context) { t.runner.Run(ctx, t.referee) }

// newTrialPlayer returns a player of trials. Its referee differs from the referee of
// matches as follows: it uses the streams of trials and no beacon, it also finds house
// bots, and it passes results to a trials.Runner instead of a ladder. It also waits for
// the lease: after a pause, another process may play the trials.
func (a *arena) newTrialPlayer(s *seater, held *lease.Lease) *trialPlayer {
	o, walls := a.player.options, map[string]time.Duration{}
	for mode, m := range o.Modes {
		walls[mode] = m.Wall
	}
	runner := trials.New(trials.Options{
		Log: a.log, Accounts: a.accounts, Directory: a.directory, SeedKey: a.secrets.CurrentSeedKey, Walls: walls, Logger: a.logger,
		BetweenTicks: func(f func()) { s.tick.WithSeatingPaused(f) },
		InMatch:      a.inMatch,
		Draining: func(ctx context.Context) (bool, error) {
			ordered, err := admin.Operations(ctx, a.log)
			return ordered.Draining, err
		},
	})
	o.Modes = maps.Clone(o.Modes)
	for mode, m := range o.Modes {
		m.Ladder = runner
		o.Modes[mode] = m
	}
	o.Gate = func() <-chan struct{} { return cmp.Or(a.player.members.Gate(), held.Gate()) }
	o.Bots, o.Dial = withHouses(o.Bots, o.Dial)
	o.Stream, o.Beacon, o.Logger = match.TrialStream, nil, a.logger.With("trial", true)
	o.Publish = func(context.Context, ladder.Seating) error { return nil } // no ladder contains the seating of a trial
	return &trialPlayer{runner, referee.New(o)}
}

// withHouses adds the house bots of trials to the bots that a referee finds and
// dials.
func withHouses(bots func(string) (directory.Bot, bool), dial referee.Dial) (func(string) (directory.Bot, bool), referee.Dial) {
	houses, seeds := map[string]trials.House{}, map[string]uint64{}
	for _, h := range trials.Houses {
		var seed [8]byte
		_, _ = rand.Read(seed[:]) // never fails
		houses[h.ID], seeds[h.ID] = h, binary.LittleEndian.Uint64(seed[:])
	}
	find := func(id string) (directory.Bot, bool) {
		if h, ok := houses[id]; ok {
			return directory.Bot{ID: h.ID, Name: h.Name}, true
		}
		return bots(id)
	}
	return find, func(ctx context.Context, url, matchID string, u referee.Upgrade, receive func([]byte, string)) (referee.Line, referee.Accepted, error) {
		h, ok := houses[u.BotID]
		if !ok {
			return dial(ctx, url, matchID, u, receive)
		}
		player, err := housebot.NewPlayer(h.Bot, seeds[h.ID], matchID)
		if err != nil {
			return nil, referee.Accepted{}, err
		}
		line, accepted := houseline.Open(player, receive)
		return line, accepted, nil
	}
}
