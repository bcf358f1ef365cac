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

// Config is what a Matchmaker is made of. All fields but Pauser are required.
type Config struct {
	Ladders   []*Ladder // one per mode
	Directory Directory
	Referee   Referee
	Pauser    Pauser // nil: nobody is paused
	Tick      time.Duration
	Logger    *slog.Logger
}

// Matchmaker ticks for every ladder that it was given.
type Matchmaker struct {
	config  Config
	seating sync.WaitGroup // of the ticks that are seating

	mu       sync.Mutex
	draining bool // guarded by mu; once it is set, seating only falls
}

// New makes a matchmaker that does nothing until it is run.
func New(c Config) *Matchmaker { return &Matchmaker{config: c} }

// Run ticks at once and then at every Tick, each mode by itself, until ctx
// ends. Whatever fails is logged, and tried again at the next tick.
func (m *Matchmaker) Run(ctx context.Context) {
	var modes sync.WaitGroup
	for _, l := range m.config.Ladders {
		modes.Go(func() { m.serve(ctx, l) })
	}
	modes.Wait()
}

// Drain ends seating for good: once it has returned, no tick seats. It waits
// for one that is about to, tickTime at the most. Unfinished matches are handed
// on as before.
func (m *Matchmaker) Drain() {
	m.mu.Lock()
	m.draining = true
	m.mu.Unlock()
	m.seating.Wait()
}

// mayBegin says whether a tick may seat; if so, it owes a seating.Done.
func (m *Matchmaker) mayBegin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.draining {
		m.seating.Add(1)
	}
	return !m.draining
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
	if !m.mayBegin() {
		return 0
	}
	defer m.seating.Done()
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
