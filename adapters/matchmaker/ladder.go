package matchmaker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/domain/rating"
	"hexarena/eventstore"
)

// SeedKeys returns the seed key for new tables.
type SeedKeys interface {
	CurrentSeedKey() (id string, key []byte)
}

// Beacon names the rounds that the seeds of matches use.
type Beacon interface {
	// Name returns the round that a seating at a tick uses, and the time at which this
	// round appears. It returns an error if the beacon is behind. In that case, no bots
	// may be seated at this tick.
	Name(tick time.Time) (n beacon.Named, appears time.Time, err error)
}

// LadderOptions configure a Ladder. All fields except Beacon are required.
type LadderOptions struct {
	Mode        string
	Rest        time.Duration // how long a bot rests between the end of a match and its next seating
	PlatformKey string        // the arena's public key, in base64
	SeedKeys    SeedKeys
	Beacon      Beacon // nil if seeds do not use a beacon
	Logger      *slog.Logger
	// SnapshotEvery is the number of events between two snapshots. The default is 10,000.
	SnapshotEvery uint64
}

// Ladder writes and reads the stream of one mode's ladder. It keeps the folded state in
// memory. Each decision is based on the whole stream, and its events are appended at
// the revision on which it was based. If another writer, such as another arena, was
// faster, the Ladder folds the new events and decides again. If the log is unavailable,
// the Ladder retries until the context ends. Retries use the same event ids, so the log
// stores an event only once, even if an acknowledgement was lost. All methods are safe
// for concurrent use.
type Ladder struct {
	log     eventstore.Log
	stream  eventstore.StreamID
	options LadderOptions

	writing *semaphore.Weighted // locked while deciding, appending and folding; a caller that waits for it gives up when its context ends
	mu      sync.RWMutex        // guards state and readAt; code that writes them must also hold writing
	state   ladder.Ladder
	readAt  time.Time // when state was last read to the end of the stream; zero before the first read and after reset

	snapshots snapshots
}

var kind = eventstore.Kind[ladder.Ladder, ladder.Event]{Decode: ladder.Decode, Evolve: ladder.Evolve}

// NewLadder returns a Ladder. It does not read the log yet: each method that takes a
// context first catches up with the log.
func NewLadder(log eventstore.Log, o LadderOptions) *Ladder {
	return &Ladder{
		log:       log,
		stream:    eventstore.StreamID(ladder.Stream(o.Mode)),
		options:   o,
		writing:   semaphore.NewWeighted(1),
		state:     ladder.New(o.Mode),
		snapshots: newSnapshots(cmp.Or(o.SnapshotEvery, snapshotEvery)),
	}
}

// Mode returns the mode of the ladder.
func (l *Ladder) Mode() string { return l.options.Mode }

// Seat stores the tables of one tick and returns their number. If most is not 0, Seat
// stores at most that many tables. If Seat returns an error, it may already have stored
// some tables, which Unfinished lists too. With a beacon, Seat gives up when the tables'
// round appears, because it must not store tables whose seeds are already known. The log
// may still store an append after Seat has given up.
//
// Seat calls check after it has caught up with the log, and right before it stores
// tables. If check returns an error, Seat stores nothing. So the log cannot lose events
// between a check and the tables without notice.
func (l *Ladder) Seat(ctx context.Context, candidates []ladder.Candidate, now time.Time, most int, check func(context.Context) error) (tables int, err error) {
	now = now.UTC().Truncate(time.Millisecond) // as TablesSeated stores it, so that anyone can derive the same round
	tick := ladder.Tick{Now: now, Rest: l.options.Rest, PlatformKey: l.options.PlatformKey, Tables: most}
	tick.SeedKeyID, tick.SeedKey = l.options.SeedKeys.CurrentSeedKey()
	if l.options.Beacon != nil {
		named, appears, err := l.options.Beacon.Name(now)
		if err != nil {
			return 0, err
		}
		tick.Beacon = &named
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, appears)
		defer cancel()
	}
	stored, err := l.write(ctx, uuid.NewString(), func(state ladder.Ladder) ([]ladder.Event, error) {
		events, err := state.Seat(candidates, tick)
		if err != nil || len(events) == 0 {
			return nil, err
		}
		return events, check(ctx)
	})
	for _, e := range stored {
		if e, ok := e.(ladder.TablesSeated); ok {
			tables += len(e.Tables)
		}
	}
	return tables, err
}

// Finish rates a match. If this or another arena has already rated or voided the match,
// Finish returns ladder.ErrAlreadyFinished, and the caller does not have to do anything
// else.
func (l *Ladder) Finish(ctx context.Context, matchID string, results []ladder.Result) error {
	_, err := l.write(ctx, matchID, func(state ladder.Ladder) ([]ladder.Event, error) {
		return state.Finish(matchID, results)
	})
	return err
}

// Void ends a match without ratings. It returns the same errors as Finish.
func (l *Ladder) Void(ctx context.Context, matchID, why string) error {
	_, err := l.write(ctx, matchID, func(state ladder.Ladder) ([]ladder.Event, error) {
		return state.Void(matchID, why)
	})
	return err
}

// Finished reports whether a match has been rated or voided.
func (l *Ladder) Finished(ctx context.Context, matchID string) (finished bool, err error) {
	err = l.read(ctx, func(state ladder.Ladder) {
		_, unfinished := state.Seating(matchID)
		finished = !unfinished
	})
	return finished, err
}

// Absentees lists the candidates that have missed their matches for a week.
func (l *Ladder) Absentees(ctx context.Context, candidates []ladder.Candidate, now time.Time) (absent []ladder.Absentee, err error) {
	err = l.read(ctx, func(state ladder.Ladder) { absent = state.Absentees(candidates, now) })
	return absent, err
}

// CatchUp folds the events that other processes have stored.
func (l *Ladder) CatchUp(ctx context.Context) error { return l.read(ctx, func(ladder.Ladder) {}) }

// Age returns how long ago the ladder was last read to the end of its stream. It returns false
// before the first such read, and after the log has lost events until the next one. It does
// not read the log.
func (l *Ladder) Age() (time.Duration, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return time.Since(l.readAt), !l.readAt.IsZero()
}

// Waiting counts the candidates that could be seated now. It does not read the log, so
// it never delays a writer.
func (l *Ladder) Waiting(candidates []ladder.Candidate, now time.Time) int {
	tick := ladder.Tick{Now: now.UTC().Truncate(time.Millisecond), Rest: l.options.Rest.Truncate(time.Millisecond)}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.state.Waiting(candidates, tick)
}

// Next returns the state of a bot, and when its rest ends or has ended. It does not
// read the log.
func (l *Ladder) Next(c ladder.Candidate) (b ladder.Bot, restsUntil time.Time) {
	c.StatusChanged = c.StatusChanged.UTC().Truncate(time.Millisecond)
	l.mu.RLock()
	defer l.mu.RUnlock()
	b = l.state.Bot(c.BotID)
	return b, b.RestsUntil(c, l.options.Rest.Truncate(time.Millisecond))
}

// Unfinished lists the matches that have been neither rated nor voided, in the order in
// which they were seated.
func (l *Ladder) Unfinished(ctx context.Context) (unfinished []ladder.Seating, err error) {
	err = l.read(ctx, func(state ladder.Ladder) { unfinished = state.Unfinished() })
	return unfinished, err
}

// Rating returns a bot's rating. It does not read the log.
func (l *Ladder) Rating(botID string) rating.Rating {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.state.Bot(botID).Rating
}

// read catches up with the log, and then passes the state of the ladder to f.
func (l *Ladder) read(ctx context.Context, f func(ladder.Ladder)) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.writing.Release(1)
	if _, err := l.catchUp(ctx, uuid.Nil); err != nil {
		return err
	}
	f(l.state)
	return nil
}

func (l *Ladder) lock(ctx context.Context) error {
	if err := l.writing.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for %s: %w", l.stream, err)
	}
	return nil
}

// errConflict reports that another writer appended first.
var errConflict = errors.New("another writer appended first")

// write calls the function decide, and stores and returns the events that the function
// returns. If another writer was faster, write calls the function again.
func (l *Ladder) write(ctx context.Context, correlation string, decide func(ladder.Ladder) ([]ladder.Event, error)) ([]ladder.Event, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.writing.Release(1)
	m := eventstore.Metadata{At: time.Now(), Correlation: correlation}
	var stored []ladder.Event
	for {
		if _, err := l.catchUp(ctx, uuid.Nil); err != nil {
			return stored, err
		}
		events, err := decide(l.state)
		if err != nil {
			return stored, err
		}
		n, err := l.appendEach(ctx, events, m)
		stored = append(stored, events[:n]...)
		if !errors.Is(err, errConflict) {
			return stored, err
		}
	}
}

// appendEach appends one event at a time, so that each append is small. It
// returns the number of events stored.
func (l *Ladder) appendEach(ctx context.Context, events []ladder.Event, m eventstore.Metadata) (int, error) {
	for n, e := range events {
		encoded, err := eventstore.Encode(e, m)
		if err != nil {
			return n, err
		}
		if err := l.append(ctx, encoded); err != nil {
			return n, err
		}
	}
	return len(events), nil
}
