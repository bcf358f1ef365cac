// Package matchmaker is the tick: at every one it has the bots paused that have
// missed their matches for a week, seats a mode's idle bots by rating, and hands
// every unfinished match of the ladder to the referee, which also is how matches
// go on after a restart. Ladder is its adapter over a ladder's stream; finishing
// referees write through the same one. It does not know how a match is played,
// nor how a bot is registered, paused or reached.
package matchmaker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hexarena/domain/ladder"
)

// tickTime bounds one tick, so that the next begins whatever the log does.
const tickTime = 15 * time.Second

// Directory knows the bots that their owners would have play.
type Directory interface {
	// CatchUp returns once the directory holds all that was in the log when it
	// was called, so that a pause that was answered before is honoured.
	CatchUp(ctx context.Context) error
	// Candidates lists the active bots of a mode.
	Candidates(ctx context.Context, mode string) ([]ladder.Candidate, error)
}

// Referee plays matches.
type Referee interface {
	// Play sees to it that a match is played to its end, and returns at once.
	// It is called for every unfinished match at every tick: for one that it
	// plays already it does nothing, and one may have ended a moment ago.
	Play(s ladder.Seating)
}

// Pauser pauses bots for the arena.
type Pauser interface {
	// PauseForMisses pauses a bot that has missed its matches since a time, and
	// sees to it that its owner is told. One whose status has changed since then
	// is left alone, without an error.
	PauseForMisses(ctx context.Context, botID string, since time.Time) error
}

// Orders are what the operators have ordered, whichever process they told.
type Orders interface {
	// MaySeat says whether tables may be seated, as the log has it now; what is
	// seated after it is seated under the keys that the log names by then.
	MaySeat(ctx context.Context) (bool, error)
}

// Config is what a Matchmaker is made of. All fields but Pauser, Orders and
// Retired are required.
type Config struct {
	Ladders   []*Ladder // one per mode
	Directory Directory
	Referee   Referee
	Pauser    Pauser      // nil: nobody is paused
	Orders    Orders      // nil: there are none
	Retired   RetiredKeys // nil: nothing is published
	Tick      time.Duration
	Logger    *slog.Logger
}

// Matchmaker ticks for every ladder that it was given.
type Matchmaker struct {
	config  Config
	seating chan struct{} // a place for each ladder: its tick takes one while it seats
	between chan struct{} // one place, for whoever takes all of them
	drained bool          // changed by who has all places, read by who has one
}

// New makes a matchmaker that does nothing until it is run.
func New(c Config) *Matchmaker {
	return &Matchmaker{config: c, seating: make(chan struct{}, len(c.Ladders)), between: make(chan struct{}, 1)}
}

// Run ticks at once and then at every Tick, each mode by itself, keeps the
// ladders' snapshots and publishes retired seed keys, until ctx ends. Whatever
// fails is logged, and tried again at the next tick.
func (m *Matchmaker) Run(ctx context.Context) {
	var modes sync.WaitGroup
	for _, l := range m.config.Ladders {
		modes.Go(func() { m.serve(ctx, l) })
		modes.Go(func() { l.KeepSnapshots(ctx) })
	}
	modes.Go(func() { m.publishKeys(ctx) })
	modes.Wait()
}

// Drain ends seating for good: once it has returned, no tick seats. It waits
// for one that is about to, tickTime at the most. Unfinished matches are handed
// on as before.
func (m *Matchmaker) Drain() { m.Between(func() { m.drained = true }) }

// Between runs f while no tick seats: ticks that are about to are waited for,
// tickTime at the most, and those that follow wait for f. What f has stored in
// the log, they honour.
func (m *Matchmaker) Between(f func()) {
	m.between <- struct{}{}
	defer func() { <-m.between }()
	for range cap(m.seating) {
		m.seating <- struct{}{}
		defer func() { <-m.seating }()
	}
	f()
}

func (m *Matchmaker) serve(ctx context.Context, l *Ladder) {
	ticker := time.NewTicker(m.config.Tick)
	defer ticker.Stop()
	for {
		m.tick(ctx, l)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tick hands over what is unfinished before it seats: a match that goes on
// after a restart does not wait for this tick's look at the directory.
func (m *Matchmaker) tick(ctx context.Context, l *Ladder) {
	ctx, cancel := context.WithTimeout(ctx, tickTime)
	defer cancel()
	m.handOver(ctx, l)
	if tables := m.seat(ctx, l); tables > 0 {
		m.config.Logger.Info("tables seated", "mode", l.Mode(), "tables", tables)
		m.handOver(ctx, l)
	}
}

func (m *Matchmaker) handOver(ctx context.Context, l *Ladder) {
	unfinished, err := l.Unfinished(ctx)
	if err != nil {
		m.failed(ctx, l, "unfinished matches are unknown", err)
		return
	}
	for _, s := range unfinished {
		if ctx.Err() != nil {
			return
		}
		m.config.Referee.Play(s)
	}
}

// seat seats who can be, and says how many tables that were.
func (m *Matchmaker) seat(ctx context.Context, l *Ladder) int {
	select {
	case m.seating <- struct{}{}:
		defer func() { <-m.seating }()
	case <-ctx.Done():
		return 0
	}
	if m.drained || !m.ordered(ctx, l) {
		return 0
	}
	if err := m.config.Directory.CatchUp(ctx); err != nil {
		m.failed(ctx, l, "the directory is behind the log", err)
		return 0
	}
	candidates, err := m.config.Directory.Candidates(ctx, l.Mode())
	if err != nil {
		m.failed(ctx, l, "candidates are unknown", err)
		return 0
	}
	now := time.Now()
	candidates, err = m.pause(ctx, l, candidates, now)
	if err != nil {
		m.failed(ctx, l, "misses are unknown", err)
		return 0
	}
	tables, err := l.Seat(ctx, candidates, now)
	if err != nil {
		m.failed(ctx, l, "tables were not seated", err)
	}
	return tables
}

// ordered says whether the operators let tables be seated.
func (m *Matchmaker) ordered(ctx context.Context, l *Ladder) bool {
	if m.config.Orders == nil {
		return true
	}
	may, err := m.config.Orders.MaySeat(ctx)
	if err != nil {
		m.failed(ctx, l, "the operators' orders are unknown", err)
	}
	return may && err == nil
}

// pause has those paused that have missed their matches for a week, and returns
// the others. One that could not be paused is not seated either, and tried again
// at the next tick.
func (m *Matchmaker) pause(ctx context.Context, l *Ladder, candidates []ladder.Candidate, now time.Time) ([]ladder.Candidate, error) {
	if m.config.Pauser == nil {
		return candidates, nil
	}
	absent, err := l.Absentees(ctx, candidates, now)
	if err != nil || len(absent) == 0 {
		return candidates, err
	}
	gone := map[string]bool{}
	for _, a := range absent {
		gone[a.BotID] = true
		if err := m.config.Pauser.PauseForMisses(ctx, a.BotID, a.Since); err != nil {
			m.failed(ctx, l, "a bot that misses its matches was not paused", err)
			continue
		}
		m.config.Logger.Info("a bot that misses its matches is paused", "mode", l.Mode(), "bot", a.BotID, "since", a.Since)
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(c ladder.Candidate) bool { return gone[c.BotID] }), nil
}

// failed logs what the next tick tries again; a stop is no failure.
func (m *Matchmaker) failed(ctx context.Context, l *Ladder, what string, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	m.config.Logger.Warn(what, "mode", l.Mode(), "error", err)
}
