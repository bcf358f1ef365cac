package matchmaker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/domain/rating"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

func TestMatchIsSeatedAndRated(t *testing.T) {
	log := memory.New()
	l := newLadder(log, ladder.Parley)
	require.Equal(t, ladder.Parley, l.Mode())
	n, err := l.Seat(t.Context(), numbered(7), time.Now(), 0, unchecked)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	all, err := l.Unfinished(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)

	require.NoError(t, l.Finish(t.Context(), all[0].MatchID, inOrder(all[0])))
	require.NoError(t, l.Void(t.Context(), all[1].MatchID, ladder.WhyOperator))
	require.Greater(t, l.Rating("bot-0000").Mu, 25.0)
	require.Equal(t, rating.New(), l.Rating("bot-0004"))
	all, err = l.Unfinished(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	require.Len(t, storedIn(t, log, ladder.Parley), 3)
}

func TestSeatWithTooFewBotsStoresNothing(t *testing.T) {
	log := memory.New()
	n, err := newLadder(log, ladder.Standard).Seat(t.Context(), numbered(2), time.Now(), 0, unchecked)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Empty(t, storedIn(t, log, ladder.Standard))
}

func TestDomainErrorsAreReturned(t *testing.T) {
	l := newLadder(memory.New(), ladder.Standard)
	s := seatOne(t, l)
	require.ErrorIs(t, l.Finish(t.Context(), "nowhere", nil), ladder.ErrUnknownMatch)
	require.ErrorIs(t, l.Finish(t.Context(), s.MatchID, nil), ladder.ErrBadResults)
	require.ErrorIs(t, l.Void(t.Context(), s.MatchID, "boredom"), ladder.ErrBadReason)
	l.options.SeedKeys = noKeys{}
	_, err := l.Seat(t.Context(), numbered(3), time.Now(), 0, unchecked)
	require.ErrorIs(t, err, ladder.ErrNoKeys)
}

type noKeys struct{}

func (noKeys) CurrentSeedKey() (string, []byte) { return "", nil }

func TestLadderReadsEventsOfOtherWriters(t *testing.T) {
	log := memory.New()
	one, two := newLadder(log, ladder.Standard), newLadder(log, ladder.Standard)
	s := seatOne(t, one)
	seen, err := two.Unfinished(t.Context())
	require.NoError(t, err)
	require.Equal(t, []ladder.Seating{s}, seen)
	require.NoError(t, two.Finish(t.Context(), s.MatchID, inOrder(s)))
	require.ErrorIs(t, one.Finish(t.Context(), s.MatchID, inOrder(s)), ladder.ErrAlreadyFinished)
	require.ErrorIs(t, one.Void(t.Context(), s.MatchID, ladder.WhyWallClock), ladder.ErrAlreadyFinished)
	require.Equal(t, two.Rating("a"), one.Rating("a"))
	require.Len(t, storedIn(t, log, ladder.Standard), 2)
}

func TestSeatAppendsOneEventAtATime(t *testing.T) {
	log := newFaultyLog()
	l := newLadder(log, ladder.Standard)
	n, err := l.Seat(t.Context(), numbered(4*2*ladder.MaxTables+3), time.Now(), 0, unchecked)
	require.NoError(t, err)
	require.Equal(t, 2*ladder.MaxTables+1, n)
	require.Len(t, storedIn(t, log, ladder.Standard), 3)
	require.Len(t, log.ids, 3)
}

// While a tick appends its tables, another arena stores a table first. The tick seats
// all other bots, and does not seat the bots of that table again.
func TestSeatDecidesAgainAfterConflict(t *testing.T) {
	log := newFaultyLog()
	one, two := newLadder(log, ladder.Standard), newLadder(log.Log, ladder.Standard)
	all := numbered(4 * 2 * ladder.MaxTables)
	faster := func(_ context.Context, call func() error) error {
		_, err := two.Seat(t.Context(), all[:40], time.Now(), 0, unchecked)
		require.NoError(t, err)
		return call()
	}
	between := func(_ context.Context, call func() error) error {
		_, err := two.Seat(t.Context(), all[len(all)-40:], time.Now(), 0, unchecked)
		require.NoError(t, err)
		return call()
	}
	direct := func(_ context.Context, call func() error) error { return call() }
	log.fail([]fault{faster, direct, between}, nil)
	n, err := one.Seat(t.Context(), all, time.Now(), 0, unchecked)
	require.NoError(t, err)
	require.Equal(t, 2*ladder.MaxTables-20, n)
	seatings, err := one.Unfinished(t.Context())
	require.NoError(t, err)
	require.Len(t, seatings, 2*ladder.MaxTables)
	storedIn(t, log, ladder.Standard)
}

func TestFaultyLogStoresOnce(t *testing.T) {
	for name, c := range map[string]struct{ appends, reads []fault }{
		"append lost":                    {[]fault{lostBefore}, nil},
		"append lost thrice":             {[]fault{lostBefore, lostBefore, lostBefore}, nil},
		"acknowledgement lost":           {[]fault{lostAfter}, nil},
		"acknowledgement lost twice":     {[]fault{lostAfter, lostAfter}, nil},
		"append hangs":                   {[]fault{hangs}, nil},
		"acknowledged late":              {[]fault{storedThenHangs}, nil},
		"read lost":                      {nil, []fault{lostBefore, lostBefore}},
		"read cut short":                 {nil, []fault{lostAfter}},
		"read hangs":                     {nil, []fault{hangs}},
		"all faults":                     {[]fault{lostAfter, hangs, lostBefore}, []fault{hangs, lostBefore, lostAfter}},
		"lost by a log that forgets ids": {[]fault{lostAfter, refusedAsStale}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFaultyLog()
				l := newLadder(log, ladder.Standard)
				s := seatOne(t, l)
				log.ids = nil
				log.fail(c.appends, c.reads)
				require.NoError(t, l.Finish(t.Context(), s.MatchID, inOrder(s)))
				require.Len(t, storedIn(t, log, ladder.Standard), 2)
				for _, id := range log.ids {
					require.Equal(t, log.ids[0], id, "retries keep the event id")
				}
				require.ErrorIs(t, l.Finish(t.Context(), s.MatchID, inOrder(s)), ladder.ErrAlreadyFinished)
			})
		})
	}
}

func storedThenHangs(ctx context.Context, call func() error) error {
	_ = call()
	return hangs(ctx, call)
}

// refusedAsStale responds like a log that no longer remembers the ids of its events,
// and therefore does not recognize a retry.
func refusedAsStale(context.Context, func() error) error {
	return &eventstore.WrongVersionError{Expected: 0, Current: 1}
}

// The acknowledgement of an append is lost, and then another writer appends.
// The retry finds the stored event.
func TestLostAcknowledgementWithAnotherWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFaultyLog()
		one, two := newLadder(log, ladder.Standard), newLadder(log.Log, ladder.Standard)
		s := seatOne(t, one)
		log.fail([]fault{func(_ context.Context, call func() error) error {
			require.NoError(t, call())
			_, err := two.Seat(t.Context(), candidates("d", "e", "f"), time.Now(), 0, unchecked)
			require.NoError(t, err)
			return errReset
		}}, nil)
		require.NoError(t, one.Finish(t.Context(), s.MatchID, inOrder(s)))
		require.Len(t, storedIn(t, log, ladder.Standard), 3)
		all, err := one.Unfinished(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
	})
}

// The context ends while the outcome of an append is unknown. The next call
// determines the outcome from the log.
func TestNextCallResolvesUnknownAppend(t *testing.T) {
	for name, c := range map[string]struct {
		fault fault
		want  error
	}{
		"stored":     {storedThenHangs, ladder.ErrAlreadyFinished},
		"not stored": {hangs, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFaultyLog()
				l := newLadder(log, ladder.Standard)
				s := seatOne(t, l)
				log.fail([]fault{c.fault}, nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				require.ErrorIs(t, l.Finish(ctx, s.MatchID, inOrder(s)), context.DeadlineExceeded)
				require.Equal(t, time.Second, time.Since(start))
				err := l.Finish(t.Context(), s.MatchID, inOrder(s))
				require.ErrorIs(t, err, c.want)
				require.Len(t, storedIn(t, log, ladder.Standard), 2)
			})
		})
	}
}

func TestFinalErrorsAreNotRetried(t *testing.T) {
	broken := func(eventType, data string) func(*memory.Log) {
		return func(log *memory.Log) {
			_, err := log.Append(t.Context(), "ladder-standard", eventstore.NoStream, eventstore.Event{
				ID: uuid.New(), Type: eventType, Data: []byte(data), Metadata: []byte(`{"schema":1}`),
			})
			require.NoError(t, err)
		}
	}
	for name, c := range map[string]struct {
		given func(*memory.Log)
		want  error
	}{
		"unknown type": {broken("BotPromoted", `{}`), errUnreadable},
		"torn data":    {broken("MatchVoided", `{"match":`), errUnreadable},
		"tombstone": {func(log *memory.Log) {
			require.NoError(t, log.Tombstone(t.Context(), "ladder-standard", eventstore.NoStream))
		}, eventstore.ErrStreamDeleted},
		"truncated stream": {func(log *memory.Log) {
			for range 3 {
				e, err := eventstore.Encode(ladder.MatchVoided{MatchID: "m"}, eventstore.Metadata{})
				require.NoError(t, err)
				_, err = log.Append(t.Context(), "ladder-standard", eventstore.Any, e)
				require.NoError(t, err)
			}
			require.NoError(t, log.SetMetadata(t.Context(), "ladder-standard", eventstore.StreamMetadata{MaxCount: 1}))
		}, errUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			log := memory.New()
			c.given(log)
			l := newLadder(log, ladder.Standard)
			_, err := l.Seat(t.Context(), numbered(3), time.Now(), 0, unchecked)
			require.ErrorIs(t, err, c.want)
			_, err = l.Unfinished(t.Context())
			require.ErrorIs(t, err, c.want)
		})
	}
}

// While one call is waiting for the log, other calls still return when their contexts
// end, and Rating returns immediately.
func TestHungLogBlocksNoCallBeyondItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFaultyLog()
		l := newLadder(log, ladder.Standard)
		s := seatOne(t, l)
		log.fail([]fault{hangs}, nil)
		done := make(chan error)
		go func() { done <- l.Finish(t.Context(), s.MatchID, inOrder(s)) }()
		synctest.Wait()

		require.Equal(t, rating.New(), l.Rating("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Unfinished(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, l.Void(ctx, s.MatchID, ladder.WhyOperator), context.DeadlineExceeded)
		require.NoError(t, <-done)
		require.Greater(t, l.Rating("a").Mu, 25.0)
	})
}

// Two arenas share a log. Each of them seats bots repeatedly and has several referees.
// storedIn checks that no bot is ever in two matches at the same time.
func TestTwoArenasEndEachMatchOnce(t *testing.T) {
	const matches = 150
	log := memory.New()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := &outcome{enough: matches, stop: cancel}
	var wg sync.WaitGroup
	for range 2 {
		l := newLadder(log, ladder.Standard)
		l.options.Rest = 0
		wg.Go(func() { seatAll(ctx, t, l) })
		for range 3 {
			wg.Go(func() { o.refereeAll(ctx, t, l) })
		}
	}
	wg.Wait()
	require.GreaterOrEqual(t, len(storedIn(t, log, ladder.Standard)), matches)
	require.GreaterOrEqual(t, o.ended.Load(), int64(matches))
}

// outcome counts the ended matches, and stops the test at a limit.
type outcome struct {
	matches sync.Map
	ended   atomic.Int64
	enough  int64
	stop    func()
}

func seatAll(ctx context.Context, t *testing.T, l *Ladder) {
	for ctx.Err() == nil {
		_, err := l.Seat(ctx, numbered(19), time.Now(), 0, unchecked)
		assert.True(t, err == nil || ctx.Err() != nil, "%v", err)
	}
}

// refereeAll finishes every unfinished match that it finds. The test runs several calls
// of refereeAll concurrently.
func (o *outcome) refereeAll(ctx context.Context, t *testing.T, l *Ladder) {
	for ctx.Err() == nil {
		all, err := l.Unfinished(ctx)
		assert.True(t, err == nil || ctx.Err() != nil, "%v", err)
		for _, s := range all {
			err := l.Finish(ctx, s.MatchID, inOrder(s))
			if err == nil {
				_, twice := o.matches.LoadOrStore(s.MatchID, true)
				assert.False(t, twice, "%s was finished twice", s.MatchID)
				if o.ended.Add(1) >= o.enough {
					o.stop()
				}
				continue
			}
			assert.True(t, errors.Is(err, ladder.ErrAlreadyFinished) || ctx.Err() != nil, "%v", err)
		}
	}
}

func BenchmarkFinish(b *testing.B) {
	l := newLadder(memory.New(), ladder.Standard)
	l.options.Rest = 0
	for b.Loop() {
		_, err := l.Seat(b.Context(), numbered(4), time.Now(), 0, unchecked)
		require.NoError(b, err)
		all, err := l.Unfinished(b.Context())
		require.NoError(b, err)
		require.NoError(b, l.Finish(b.Context(), all[0].MatchID, inOrder(all[0])))
	}
}
