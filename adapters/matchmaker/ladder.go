package matchmaker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"hexarena/domain/ladder"
	"hexarena/domain/rating"
	"hexarena/eventstore"
)

// SeedKeys knows the seed key to seat new tables under.
type SeedKeys interface {
	CurrentSeedKey() (id string, key []byte)
}

// LadderConfig is what a Ladder is made of.
type LadderConfig struct {
	Mode        string
	Rest        time.Duration // from the end of a bot's match to its next seating
	PlatformKey string        // the public key, in base64
	SeedKeys    SeedKeys
	Logger      *slog.Logger // nil: nothing is logged
}

// Ladder writes and reads the stream of one mode's ladder, whose fold it keeps
// in memory. Every decision is made on the stream as it is, and appended at the
// exact revision that it was made at; where another writer was faster, be it
// another arena, it is made anew. A log that is away is tried again until the
// context ends; an append in doubt is retried with the same event ids. All
// methods are safe for concurrent use.
type Ladder struct {
	log    eventstore.Log
	stream eventstore.StreamID
	config LadderConfig

	writing chan struct{} // whoever has put an element in decides, appends and folds
	mu      sync.RWMutex  // guards state; its writers hold writing too
	state   ladder.Ladder

	snapshots snapshots
}

var kind = eventstore.Kind[ladder.Ladder, ladder.Event]{Decode: ladder.Decode, Evolve: ladder.Evolve}

// NewLadder makes a ladder that has not read anything: each method that takes
// a context catches up first.
func NewLadder(log eventstore.Log, c LadderConfig) *Ladder {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Ladder{
		log:     log,
		stream:  eventstore.StreamID(ladder.Stream(c.Mode)),
		config:  c,
		writing: make(chan struct{}, 1),
		state:   ladder.New(c.Mode),

		snapshots: newSnapshots(),
	}
}

// Mode is the mode whose ladder it is.
func (l *Ladder) Mode() string { return l.config.Mode }

// Seat stores the tables of one tick and says how many there were. With an
// error some may be stored all the same: Unfinished has them.
func (l *Ladder) Seat(ctx context.Context, candidates []ladder.Candidate, now time.Time) (tables int, err error) {
	tick := ladder.Tick{Now: now, Rest: l.config.Rest, PlatformKey: l.config.PlatformKey}
	tick.SeedKeyID, tick.SeedKey = l.config.SeedKeys.CurrentSeedKey()
	stored, err := l.write(ctx, uuid.NewString(), func(state ladder.Ladder) ([]ladder.Event, error) {
		return state.Seat(candidates, tick)
	})
	for _, e := range stored {
		if e, ok := e.(ladder.TablesSeated); ok {
			tables += len(e.Tables)
		}
	}
	return tables, err
}

// Absentees lists the candidates that have missed their matches for a week.
func (l *Ladder) Absentees(ctx context.Context, candidates []ladder.Candidate, now time.Time) ([]ladder.Absentee, error) {
	release, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := l.catchUp(ctx, uuid.Nil); err != nil {
		return nil, err
	}
	return l.state.Absentees(candidates, now), nil
}

// Finish rates a match. ladder.ErrAlreadyFinished says that it was rated or
// voided before, by this arena or another: nothing is left to do then.
func (l *Ladder) Finish(ctx context.Context, matchID string, results []ladder.Result) error {
	_, err := l.write(ctx, matchID, func(state ladder.Ladder) ([]ladder.Event, error) {
		return state.Finish(matchID, results)
	})
	return err
}

// Void ends a match without ratings; its errors are those of Finish.
func (l *Ladder) Void(ctx context.Context, matchID, why string) error {
	_, err := l.write(ctx, matchID, func(state ladder.Ladder) ([]ladder.Event, error) {
		return state.Void(matchID, why)
	})
	return err
}

// Unfinished lists the matches that are neither rated nor void, in the order
// of their seating.
func (l *Ladder) Unfinished(ctx context.Context) ([]ladder.Seating, error) {
	release, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := l.catchUp(ctx, uuid.Nil); err != nil {
		return nil, err
	}
	return l.state.Unfinished(), nil
}

// Rating is a bot's rating as far as this ladder has read.
func (l *Ladder) Rating(botID string) rating.Rating {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.state.Bot(botID).Rating
}

func (l *Ladder) acquire(ctx context.Context) (release func(), err error) {
	select {
	case l.writing <- struct{}{}:
		return func() { <-l.writing }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for %s: %w", l.stream, ctx.Err())
	}
}

// errConflict says that another writer was faster.
var errConflict = errors.New("another writer was faster")

// write decides until what was decided is stored, and returns what was stored.
func (l *Ladder) write(ctx context.Context, correlation string, decide func(ladder.Ladder) ([]ladder.Event, error)) ([]ladder.Event, error) {
	release, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
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
		n, err := l.storeEach(ctx, events, m)
		stored = append(stored, events[:n]...)
		if !errors.Is(err, errConflict) {
			return stored, err
		}
	}
}

// storeEach appends one event at a time, which bounds the size of an append,
// and says how many were stored.
func (l *Ladder) storeEach(ctx context.Context, events []ladder.Event, m eventstore.Metadata) (int, error) {
	for n, e := range events {
		encoded, err := eventstore.Encode(e, m)
		if err != nil {
			return n, err
		}
		if err := l.store(ctx, encoded); err != nil {
			return n, err
		}
	}
	return len(events), nil
}
