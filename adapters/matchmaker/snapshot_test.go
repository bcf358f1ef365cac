package matchmaker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/rating"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

const snapshotsOfTests = eventstore.StreamID("snapshot-standard")

// stateOf returns a ladder's whole state as a string.
func stateOf(t *testing.T, l *Ladder) string {
	t.Helper()
	_, err := l.Unfinished(t.Context())
	require.NoError(t, err)
	s := l.state.State()
	s.Sort()
	data, err := json.Marshal(s)
	require.NoError(t, err)
	return fmt.Sprint(l.state.Version(), " ", string(data))
}

// countingLog counts how many ladder events are read. It can hide the snapshots.
type countingLog struct {
	eventstore.Log
	hides bool
	read  int
}

func (l *countingLog) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		if l.hides && strings.HasPrefix(string(id), ladder.SnapshotPrefix) {
			return
		}
		for r, err := range l.Log.Read(ctx, id, from, opt) {
			if err == nil && id != snapshotsOfTests {
				l.read++
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// fromZero folds the ladder from the first event and returns its state.
func fromZero(t *testing.T, log eventstore.Log) string {
	t.Helper()
	return stateOf(t, newLadder(&countingLog{Log: log, hides: true}, ladder.Standard))
}

// step seats bots at random, or ends a match at random.
func step(t *testing.T, l *Ladder, rng *rand.Rand) {
	t.Helper()
	all, err := l.Unfinished(t.Context())
	require.NoError(t, err)
	switch s := len(all); {
	case s == 0 || rng.IntN(3) == 0:
		_, err = l.Seat(t.Context(), numbered(3+rng.IntN(12)), time.Now(), 0, unchecked)
	case rng.IntN(4) == 0:
		err = l.Void(t.Context(), all[rng.IntN(s)].MatchID, ladder.WhyWallClock)
	default:
		m := all[rng.IntN(s)]
		results := inOrder(m)
		for i := range results {
			results[i].Missed = rng.IntN(2) == 0
		}
		err = l.Finish(t.Context(), m.MatchID, results)
	}
	require.NoError(t, err)
}

func TestStartFromSnapshotEqualsStartFromZero(t *testing.T) {
	rng := logtest.Random(t)
	log := memory.New()
	l := newLadder(log, ladder.Standard)
	l.options.Rest = 0
	for range 150 {
		step(t, l, rng)
		if rng.IntN(5) == 0 {
			require.NoError(t, l.takeSnapshot(t.Context()))
		}
		require.Equal(t, fromZero(t, log), stateOf(t, newLadder(log, ladder.Standard)))
	}
	again := newLadder(log, ladder.Standard)
	again.options.Rest = 0
	for range 20 {
		step(t, again, rng)
	}
	require.Equal(t, fromZero(t, log), stateOf(t, again))
	require.Equal(t, fromZero(t, log), stateOf(t, l), "the first ladder has caught up")
}

// The stream keeps only the newest snapshot. A new Ladder reads only the last event
// that the snapshot includes and the events after that.
func TestSnapshotIsTakenAfterEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		l := newLadder(log, ladder.Standard)
		l.options.Rest, l.snapshots.every = 0, 10
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.TakeSnapshots(ctx) }()
		defer func() { cancel(); <-done }()
		rng := rand.New(rand.NewPCG(1, 1))
		var taken []uint64
		for range 60 {
			step(t, l, rng)
			synctest.Wait()
			var stored []eventstore.Recorded
			for r, err := range log.Read(t.Context(), snapshotsOfTests, 0, eventstore.ReadOptions{}) {
				require.NoError(t, err)
				stored = append(stored, r)
			}
			if len(stored) == 0 {
				continue
			}
			require.Len(t, stored, 1, "the stream keeps its last event")
			e, err := ladder.DecodeSnapshot(stored[0].Type, stored[0].Data)
			require.NoError(t, err)
			if at := e.(ladder.LadderSnapshotTaken).Revision; len(taken) == 0 || taken[len(taken)-1] != at {
				taken = append(taken, at)
			}
		}
		require.GreaterOrEqual(t, len(taken), 5)
		for i, at := range taken {
			require.EqualValues(t, 10*i+9, at)
		}
		reads := &countingLog{Log: log}
		started := newLadder(reads, ladder.Standard)
		state := stateOf(t, started)
		require.Equal(t, int(started.state.Version()-taken[len(taken)-1]), reads.read, "the last event in the snapshot, and the events after it")
		require.Equal(t, fromZero(t, log), state)
	})
}

func TestLongStartTakesSnapshotForTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		l := newLadder(log, ladder.Standard)
		l.options.Rest = 0
		rng := rand.New(rand.NewPCG(2, 1))
		for range 30 {
			step(t, l, rng)
		}
		started := newLadder(log, ladder.Standard)
		started.snapshots.every = 20
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); started.TakeSnapshots(ctx) }()
		defer func() { cancel(); <-done }()
		want := stateOf(t, started)
		synctest.Wait()
		reads := &countingLog{Log: log}
		require.Equal(t, want, stateOf(t, newLadder(reads, ladder.Standard)))
		require.Equal(t, 1, reads.read, "reads only the event that the snapshot names")
	})
}

// The function modified() returns a function that appends a modified snapshot to the
// stream of snapshots.
func modified(change func(*ladder.LadderSnapshotTaken)) func(*testing.T, *memory.Log) {
	return func(t *testing.T, log *memory.Log) {
		l := newLadder(log, ladder.Standard)
		_, err := l.Unfinished(t.Context())
		require.NoError(t, err)
		taken, err := l.state.State().Snapshot(ladder.Standard, l.state.Version()-1, l.snapshots.last.String())
		require.NoError(t, err)
		change(&taken)
		encoded, err := eventstore.Encode(taken, eventstore.Metadata{})
		require.NoError(t, err)
		_, err = log.Append(t.Context(), snapshotsOfTests, eventstore.Any, encoded)
		require.NoError(t, err)
	}
}

func TestUnusableSnapshotIsIgnored(t *testing.T) {
	for name, store := range map[string]func(*testing.T, *memory.Log){
		"damaged":                modified(func(e *ladder.LadderSnapshotTaken) { e.State[len(e.State)/2] ^= 1 }),
		"of a different version": modified(func(e *ladder.LadderSnapshotTaken) { e.Schema++ }),
		"of the other mode":      modified(func(e *ladder.LadderSnapshotTaken) { e.Mode = ladder.Parley }),
		"ahead":                  modified(func(e *ladder.LadderSnapshotTaken) { e.Revision++ }),
		"of a different event":   modified(func(e *ladder.LadderSnapshotTaken) { e.EventID = uuid.NewString() }),
		"of an older event":      modified(func(e *ladder.LadderSnapshotTaken) { e.Revision-- }),
		"of a different type": func(t *testing.T, log *memory.Log) {
			_, err := log.Append(t.Context(), snapshotsOfTests, eventstore.Any, eventstore.Event{ID: uuid.New(), Type: "SnapshotOfTomorrow", Data: []byte(`{}`)})
			require.NoError(t, err)
		},
		"of a deleted stream": func(t *testing.T, log *memory.Log) {
			require.NoError(t, log.Tombstone(t.Context(), snapshotsOfTests, eventstore.Any))
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := memory.New()
			before := newLadder(log, ladder.Standard)
			before.options.Rest = 0
			rng := rand.New(rand.NewPCG(3, 1))
			for range 12 {
				step(t, before, rng)
			}
			store(t, log)
			var logged logtest.Lines
			l := newLadder(log, ladder.Standard)
			l.options.Rest, l.options.Logger = 0, slog.New(slog.NewTextHandler(&logged, nil))
			require.Equal(t, fromZero(t, log), stateOf(t, l))
			for range 5 {
				step(t, l, rng)
			}
			require.Equal(t, fromZero(t, log), stateOf(t, l))
			require.Equal(t, 1, strings.Count(logged.String(), "\n"), "want one line: %s", logged.String())
			require.Contains(t, logged.String(), "folding the ladder from its first event")
		})
	}
}

// If the log is unavailable, a new Ladder waits until it can read the snapshot. It
// does not fall back to folding from the first event.
func TestSnapshotReadIsRetried(t *testing.T) {
	for name, reads := range map[string][]fault{
		"the snapshot":    {lostBefore, lostBefore},
		"its event":       {func(_ context.Context, call func() error) error { return call() }, lostBefore},
		"for a long time": {hangs},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFaultyLog()
				l := newLadder(log, ladder.Standard)
				s := seatOne(t, l)
				require.NoError(t, l.Finish(t.Context(), s.MatchID, inOrder(s)))
				require.NoError(t, l.takeSnapshot(t.Context()))
				log.fail(nil, reads)
				counted := &countingLog{Log: log}
				started := newLadder(counted, ladder.Standard)
				require.Equal(t, fromZero(t, log.Log), stateOf(t, started))
				require.Equal(t, 1, counted.read)
			})
		})
	}
}

// The type stuck is a log that blocks or fails appends of snapshots.
type stuck struct {
	eventstore.Log
	snapshot func(context.Context) error
}

func (l *stuck) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	if id == snapshotsOfTests {
		if err := l.snapshot(ctx); err != nil {
			return eventstore.Appended{}, err
		}
	}
	return l.Log.Append(ctx, id, expected, events...)
}

// The ladder continues to work while a snapshot is being stored. The snapshot contains
// the state at the time when storing began.
func TestLadderDoesNotWaitForSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		log := &stuck{memory.New(), func(ctx context.Context) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		l := newLadder(log, ladder.Standard)
		l.options.Rest, l.snapshots.every = 0, 2
		var keeping sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		keeping.Go(func() { l.TakeSnapshots(ctx) })
		defer func() { cancel(); keeping.Wait() }()
		began := time.Now()
		rng := rand.New(rand.NewPCG(4, 1))
		for range 20 {
			step(t, l, rng)
			synctest.Wait()
		}
		require.Zero(t, time.Since(began))
		close(release)
		synctest.Wait()
		require.Equal(t, fromZero(t, log), stateOf(t, newLadder(log, ladder.Standard)))
	})
}

func TestFailedSnapshotIsLoggedAndTheNextIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := eventstore.ErrTooLarge
		log := &stuck{memory.New(), func(context.Context) error { return fails }}
		var logged logtest.Lines
		l := newLadder(log, ladder.Standard)
		l.options.Rest, l.snapshots.every, l.options.Logger = 0, 5, slog.New(slog.NewTextHandler(&logged, nil))
		var keeping sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		keeping.Go(func() { l.TakeSnapshots(ctx) })
		defer func() { cancel(); keeping.Wait() }()
		rng := rand.New(rand.NewPCG(5, 1))
		for range 9 {
			step(t, l, rng)
			synctest.Wait()
		}
		require.Equal(t, 1, strings.Count(logged.String(), "could not store a snapshot of the ladder"))
		fails = nil
		for range 5 {
			step(t, l, rng)
			synctest.Wait()
		}
		reads := &countingLog{Log: log}
		require.Equal(t, fromZero(t, log), stateOf(t, newLadder(reads, ladder.Standard)))
		require.Less(t, reads.read, 10)
	})
}

// The type aged is a log with a long ladder of 10,000 bots. To save memory, it stores a
// short list of events and repeats the list as often as necessary.
type aged struct {
	*memory.Log
	round  []eventstore.Event // the list that is repeated
	events int
}

func (l *aged) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	if id == snapshotsOfTests {
		return l.Log.Read(ctx, id, from, opt)
	}
	return func(yield func(eventstore.Recorded, error) bool) {
		end := l.events
		if opt.Limit > 0 {
			end = min(end, int(from)+opt.Limit)
		}
		for at := int(from); at < end; at++ {
			e := eventstore.Recorded{Event: l.round[at%len(l.round)], Stream: id, Revision: eventstore.Revision(at)}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// newAged returns a log with the given number of rating changes, which result from
// matches of 4 bots.
func newAged(b *testing.B, ratings int) *aged {
	const bots, tables = 10_000, 2_500
	l := &aged{Log: memory.New()}
	add := func(e ladder.Event) {
		encoded, err := eventstore.Encode(e, eventstore.Metadata{At: time.Now(), Correlation: uuid.NewString()})
		require.NoError(b, err)
		l.round = append(l.round, encoded)
	}
	ids := make([]string, bots)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	rng := rand.New(rand.NewPCG(6, 1))
	for first := 0; first < tables; first += ladder.MaxTables {
		seated := ladder.TablesSeated{Tick: time.Now().UTC(), SeedKey: "k1"}
		for table := first; table < first+ladder.MaxTables; table++ {
			seated.Tables = append(seated.Tables, ladder.Table{MatchID: uuid.NewString(), Bots: ids[4*table : 4*table+4]})
		}
		add(seated)
		for _, table := range seated.Tables {
			changed := ladder.RatingsChanged{MatchID: table.MatchID}
			for i, bot := range table.Bots {
				r := rating.Rating{Mu: 25 + 5*rng.NormFloat64(), Sigma: 1 + rng.Float64()}
				changed.Seats = append(changed.Seats, ladder.RatedSeat{BotID: bot, Placement: i + 1, Before: r, After: r})
			}
			add(changed)
		}
	}
	l.events = ratings / tables * len(l.round)
	return l
}

// BenchmarkStart measures how long a new Ladder takes to read a ladder with a million
// rating changes from memory. One case folds from the first event. The other case uses
// a snapshot and folds the snapshotEvery/2 events that follow it.
func BenchmarkStart(b *testing.B) {
	const ratings = 1_000_000
	log := newAged(b, ratings)
	start := func() *Ladder {
		l := newLadder(log, ladder.Standard)
		_, err := l.Unfinished(b.Context())
		require.NoError(b, err)
		require.EqualValues(b, log.events, l.state.Version())
		return l
	}
	whole := log.events
	b.Run("from zero", func(b *testing.B) {
		for b.Loop() {
			start()
		}
		b.ReportMetric(float64(whole)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
	log.events -= snapshotEvery / 2
	require.NoError(b, start().takeSnapshot(b.Context()))
	log.events = whole
	b.Run("from a snapshot", func(b *testing.B) {
		for b.Loop() {
			start()
		}
	})
}
