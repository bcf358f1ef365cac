package main

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"hexarena/adapters/lease"
	"hexarena/adapters/matchmaker"
	"hexarena/adapters/membership"
	"hexarena/adapters/referee"
	"hexarena/adapters/secrets"
	"hexarena/domain/ladder"
)

// matchesPerCore is the default of --max-matches for each CPU core.
const matchesPerCore = 500

// tickGap is the time between the ticks of two modes.
const tickGap = 10 * time.Millisecond

// player plays the matches that are assigned to this process.
type player struct {
	folder  *lease.Folder
	members *membership.Members
	options referee.Options
	referee *referee.Referee
}

// seater seats tables, assigns matches and plays trials under one lease.
type seater struct {
	assigner assigner
	tick     *matchmaker.Matchmaker
	trials   *trialPlayer
}

// openPlay creates the ladders. If the arena plays, it also locks the data folder and
// creates the player.
func (a *arena) openPlay(context.Context) error {
	a.openLadders()
	if !a.Play {
		return nil
	}
	folder, err := lease.OpenFolder(a.pace.Data)
	if err != nil {
		return err
	}
	a.onClose(folder.Close)
	members := membership.New(membership.Options{
		Log: a.log, Member: folder.ID, Host: folder.Host, MaxMatches: a.takes, SeedKeys: a.secrets.SeedKeyIDs,
		Unfinished: a.unfinished, Retry: a.pace.Tick, Logger: a.logger,
	})
	options := a.refereeOptions(folder.ID, members)
	a.player = &player{folder: folder, members: members, options: options, referee: referee.New(options)}
	return nil
}

func (c *config) maxMatches() int {
	if c.MaxMatches > 0 {
		return c.MaxMatches
	}
	return matchesPerCore * runtime.GOMAXPROCS(0)
}

// The method takes() returns how many matches this process takes now. While it cannot
// start matches, it takes none, but it keeps those that it plays.
func (a *arena) takes() int {
	if a.cannotStart() != nil {
		return 0
	}
	return a.maxMatches()
}

// cannotStart returns why this process cannot start matches, or nil. A match starts only
// after this process has signed a head that includes its table.
func (a *arena) cannotStart() error {
	return cmp.Or(a.signedLog.err(), a.heads.kept.err())
}

func (a *arena) refereeOptions(process string, members *membership.Members) referee.Options {
	modes := map[string]referee.Mode{}
	for _, l := range a.ladders {
		m := referee.Mode{Decision: a.DecisionStandard, Wall: a.WallStandard, TimeBank: a.TimeBank, Ladder: l}
		if l.Mode() == ladder.Parley {
			m.Decision, m.Wall = a.DecisionParley, a.WallParley
		}
		modes[l.Mode()] = m
	}
	o := referee.Options{
		Log: a.log, Dial: a.dial, Modes: modes, Player: process, Logger: a.logger, Gate: members.Gate,
		Bots: a.directory.playing, ServerSeed: referee.SeedsFromKeys(a.secrets.SeedKey), Publish: a.publish,
	}
	if a.beacon != nil {
		o.Beacon = a.beacon
	}
	return o
}

// newSeater returns a seater that works under a lease.
func (a *arena) newSeater(l *lease.Lease) *seater {
	s := &seater{}
	s.trials = a.newTrialPlayer(s, l)
	s.assigner = assigner{a.player.members, a.secrets, l.Generation(), s.trials.runner.HoldsBack}
	s.tick = matchmaker.New(matchmaker.Options{
		Ladders: a.ladders, Directory: candidates{a.directory, a.signedLog, a.heads}, Assigner: s.assigner, Pauser: a.notices, Tick: a.pace.Tick, Gap: tickGap,
		Logger: a.logger, Orders: orders{a.log, a.secrets}, Retired: a.secrets,
		Rotation: a.rotation(),
	})
	return s
}

// assigner implements matchmaker.Assigner.
type assigner struct {
	members    *membership.Members
	secrets    *secrets.Secrets
	generation uint64
	holdsBack  func(ladder.Seating) bool
}

// Assign implements matchmaker.Assigner.
func (a assigner) Assign(ctx context.Context) error {
	return a.members.Assign(ctx, a.generation, a.holdsBack)
}

// Free implements matchmaker.Assigner.
func (a assigner) Free() int {
	id, _ := a.secrets.CurrentSeedKey()
	return a.members.Free(id)
}

// The method unfinished() reads the ladders, and returns the unfinished matches of all
// modes.
func (a *arena) unfinished(ctx context.Context) (all []ladder.Seating, err error) {
	for _, l := range a.ladders {
		unfinished, err := l.Unfinished(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, unfinished...)
	}
	return all, nil
}

// inMatch reports whether a bot is in an unfinished match.
func (a *arena) inMatch(ctx context.Context, mode, botID string) (bool, error) {
	all, err := a.unfinished(ctx)
	return slices.ContainsFunc(all, func(s ladder.Seating) bool {
		return s.Mode == mode && slices.ContainsFunc(s.Bots, func(e ladder.Entrant) bool { return e.BotID == botID })
	}), err
}

// handoverTime limits how long other processes wait at shutdown until the matches of
// this process have stopped. After that, they claim the matches, which stops them too.
const handoverTime = time.Second
