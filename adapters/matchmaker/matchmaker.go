// Package matchmaker runs the ticks of each mode. A tick first assigns every unfinished
// match to a process that plays, which is also how matches resume after a restart.
// Next, the tick pauses bots that have missed their matches for a week. Finally, it
// seats idle bots by rating. Create a [Ladder] for each mode and a [Matchmaker], and
// call [Matchmaker.Run].
//
// A Ladder writes the stream of one ladder. The referee stores results through
// the same Ladder. The package does not know how a match is played, or how a
// bot is registered, paused or dialed.
package matchmaker

import (
	"context"
	"errors"
	"log/slog"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// tickTime is the time limit of one tick, so that a slow log does not delay the
// next tick.
const tickTime = 15 * time.Second

// Directory lists the bots that may play.
type Directory interface {
	// CatchUp returns once the directory includes all events that were in the log at
	// the time of the call. So a tick takes into account every pause that the arena
	// confirmed before the tick.
	CatchUp(ctx context.Context) error
	// Candidates lists the active bots of a mode.
	Candidates(ctx context.Context, mode string) ([]ladder.Candidate, error)
}

// Assigner assigns matches to the processes that play.
type Assigner interface {
	// Assign assigns all unfinished matches that no process plays. New ones wait while no
	// process can start them. A match that has just ended does no harm.
	Assign(ctx context.Context) error
	// Free returns how many more matches the processes can take, as far as the last
	// call of Assign knows.
	Free() int
}

// Pauser pauses bots on behalf of the arena.
type Pauser interface {
	// PauseForMisses pauses a bot that has missed its matches since the given time, and
	// arranges for an email to the bot's owner. If the bot's status has changed since
	// that time, PauseForMisses does nothing and returns no error.
	PauseForMisses(ctx context.Context, botID string, since time.Time) error
}

// Orders reads the operators' orders, which apply to all processes that use the log.
type Orders interface {
	// MaySeat reports whether the operators allow tables to be seated now. It
	// also updates the seed key to the one that the log currently selects for
	// new tables.
	MaySeat(ctx context.Context) (bool, error)
}

// Options configure a Matchmaker. All fields except Pauser, Orders, Retired,
// Rotation and Gap are required.
type Options struct {
	Ladders   []*Ladder // one per mode
	Directory Directory
	Assigner  Assigner
	Pauser    Pauser      // if nil, bots are not paused
	Orders    Orders      // if nil, tables may always be seated
	Retired   RetiredKeys // if nil, retired seed keys are not published
	Rotation  Rotation    // if nil, seed keys are not rotated on a schedule
	Tick      time.Duration
	// Gap is the time before the first tick, and between the ticks of two modes. A tick that
	// has waited until another mode seated its tables also waits for Gap. Without Gap,
	// several callers read the same streams at the same moment, in random order.
	Gap    time.Duration
	Logger *slog.Logger
}

// Matchmaker runs the ticks of its ladders. It is safe for concurrent use.
type Matchmaker struct {
	options Options
	// seating has one slot for each ladder. A tick holds a slot while it seats tables,
	// so no tick can seat tables while another caller holds all slots.
	seating *semaphore.Weighted
	// The semaphore placing lets the ladders seat tables one after another, so that they
	// do not fill the same free places.
	placing *semaphore.Weighted
	began   atomic.Pointer[time.Time] // when Run was called; nil before that
	drained bool                      // written only while all slots are held, and read while one slot is held
}

// New returns a Matchmaker. Call Run to start its ticks.
func New(o Options) *Matchmaker {
	return &Matchmaker{options: o, seating: semaphore.NewWeighted(int64(len(o.Ladders))), placing: semaphore.NewWeighted(1)}
}

// Run runs the ticks of all modes until ctx ends: the first immediately, and the
// others at intervals of Tick. The modes do not wait for each other. Run also takes
// snapshots of the ladders, rotates seed keys and publishes retired keys. If something
// fails, Run logs the failure and tries again at the next tick.
func (m *Matchmaker) Run(ctx context.Context) {
	var all sync.WaitGroup
	began := time.Now()
	m.began.Store(&began)
	for i, l := range m.options.Ladders {
		mode := pprof.Labels("mode", l.Mode())
		all.Go(func() {
			pprof.Do(ctx, mode, func(ctx context.Context) { m.everyTick(ctx, i+1, func() { m.tick(ctx, l) }) })
		})
		all.Go(func() { pprof.Do(ctx, mode, l.TakeSnapshots) })
	}
	if m.options.Retired != nil || m.options.Rotation != nil {
		all.Go(func() {
			pprof.Do(ctx, pprof.Labels("part", "keys"), func(ctx context.Context) {
				m.everyTick(ctx, len(m.options.Ladders)+1, func() { m.keepKeys(ctx) })
			})
		})
	}
	all.Wait()
}

// NextTick returns the time of the first tick after now. It returns the zero time if
// Run has not been called yet.
func (m *Matchmaker) NextTick(now time.Time) time.Time {
	began := m.began.Load()
	if began == nil {
		return time.Time{}
	}
	return began.Add(now.Sub(*began).Truncate(m.options.Tick) + m.options.Tick)
}

// Drain stops seating permanently. It waits up to tickTime for ticks that are
// seating tables. Ticks still assign unfinished matches.
func (m *Matchmaker) Drain() { m.WithSeatingPaused(func() { m.drained = true }) }

// WithSeatingPaused calls f while no tick is seating tables. It first waits up to
// tickTime for ticks that are seating tables. Later ticks wait until f returns, and
// take into account all events that f has stored.
func (m *Matchmaker) WithSeatingPaused(f func()) {
	all := int64(len(m.options.Ladders))
	_ = m.seating.Acquire(context.Background(), all) // never fails, because its context never ends
	defer m.seating.Release(all)
	f()
}

// everyTick calls f at the time of each tick, until ctx ends: the first time after n gaps.
func (m *Matchmaker) everyTick(ctx context.Context, n int, f func()) {
	if eventstore.Sleep(ctx, time.Duration(n)*m.options.Gap) != nil {
		return
	}
	ticker := time.NewTicker(m.options.Tick)
	defer ticker.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tick runs one tick of a ladder. It assigns unfinished matches before it seats tables,
// so that matches resume after a restart without waiting for the directory.
func (m *Matchmaker) tick(ctx context.Context, l *Ladder) {
	ctx, cancel := context.WithTimeout(ctx, tickTime)
	defer cancel()
	m.assign(ctx, l)
	if tables := m.seat(ctx, l); tables > 0 {
		m.options.Logger.Info("tables seated", "mode", l.Mode(), "tables", tables)
	}
}

func (m *Matchmaker) assign(ctx context.Context, l *Ladder) {
	if err := m.options.Assigner.Assign(ctx); err != nil {
		m.failed(ctx, l, "could not assign the unfinished matches", err)
	}
}

// seat stores tables for as many of the eligible bots as possible, and returns the
// number of tables.
func (m *Matchmaker) seat(ctx context.Context, l *Ladder) int {
	if m.seating.Acquire(ctx, 1) != nil {
		return 0
	}
	defer m.seating.Release(1)
	if m.drained || !m.maySeat(ctx, l) {
		return 0
	}
	if err := m.options.Directory.CatchUp(ctx); err != nil {
		m.failed(ctx, l, "no tables seated: a read model is behind the log", err)
		return 0
	}
	candidates, err := m.options.Directory.Candidates(ctx, l.Mode())
	if err != nil {
		m.failed(ctx, l, "no tables seated: could not read the candidates", err)
		return 0
	}
	now := time.Now()
	candidates, err = m.pauseAbsentees(ctx, l, candidates, now)
	if err != nil {
		m.failed(ctx, l, "no tables seated: could not read which bots missed their matches", err)
		return 0
	}
	return m.place(ctx, l, candidates, now)
}

// place seats at most as many tables as the processes can take, and assigns the matches.
func (m *Matchmaker) place(ctx context.Context, l *Ladder, candidates []ladder.Candidate, now time.Time) int {
	waited := !m.placing.TryAcquire(1)
	if waited && m.placing.Acquire(ctx, 1) != nil {
		return 0
	}
	defer m.placing.Release(1)
	// The other mode has just assigned its matches, and this process may still be reading
	// the ladders to play them.
	if waited && eventstore.Sleep(ctx, m.options.Gap) != nil {
		return 0
	}
	free := m.options.Assigner.Free()
	if free <= 0 {
		if l.Waiting(candidates, now) >= ladder.SmallTable {
			m.options.Logger.Warn("no tables seated: the processes that play have no capacity for more matches; see --max-matches", "mode", l.Mode())
		}
		return 0
	}
	tables, err := l.Seat(ctx, candidates, now, free, m.options.Directory.CatchUp)
	if err != nil {
		m.failed(ctx, l, "tables not seated", err)
	}
	if tables > 0 {
		m.assign(ctx, l)
	}
	return tables
}

// maySeat reports whether the operators allow tables to be seated.
func (m *Matchmaker) maySeat(ctx context.Context, l *Ladder) bool {
	if m.options.Orders == nil {
		return true
	}
	may, err := m.options.Orders.MaySeat(ctx)
	if err != nil {
		m.failed(ctx, l, "no tables seated: could not read the operators' orders", err)
	}
	return may && err == nil
}

// pauseAbsentees pauses the bots that have missed their matches for a week, and returns
// the others. If a bot could not be paused, it is not seated either, and the next tick
// tries again.
func (m *Matchmaker) pauseAbsentees(ctx context.Context, l *Ladder, candidates []ladder.Candidate, now time.Time) ([]ladder.Candidate, error) {
	if m.options.Pauser == nil {
		return candidates, nil
	}
	absentees, err := l.Absentees(ctx, candidates, now)
	if err != nil || len(absentees) == 0 {
		return candidates, err
	}
	absent := map[string]bool{}
	for _, a := range absentees {
		absent[a.BotID] = true
		if err := m.options.Pauser.PauseForMisses(ctx, a.BotID, a.Since); err != nil {
			m.failed(ctx, l, "could not pause a bot that has missed its matches", err)
			continue
		}
		m.options.Logger.Info("paused a bot that has missed its matches", "mode", l.Mode(), "bot", a.BotID, "since", a.Since)
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(c ladder.Candidate) bool { return absent[c.BotID] }), nil
}

// The method failed() logs a failure unless the process is stopping. The next tick
// retries.
func (m *Matchmaker) failed(ctx context.Context, l *Ladder, what string, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	m.options.Logger.Warn(what+"; retrying at the next tick", "mode", l.Mode(), "error", err)
}
