package matchmaker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/beacon"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

var errBehind = errors.New("the beacon is behind")

// fakeBeacon names rounds of quicknet. While its field behind is true, it returns an
// error instead.
type fakeBeacon struct {
	mu     sync.Mutex
	behind bool
}

func (b *fakeBeacon) set(behind bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.behind = behind
}

func (b *fakeBeacon) Name(tick time.Time) (beacon.Named, time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.behind {
		return beacon.Named{}, time.Time{}, errBehind
	}
	chain := beacon.Quicknet()
	round := chain.After(tick)
	return beacon.Named{Chain: chain.Hash, Round: round}, chain.Time(round), nil
}

// clockIn2026 moves the bubble's clock to a time after quicknet's first round.
func clockIn2026() {
	<-time.After(time.Until(time.Date(2026, 11, 23, 12, 0, 0, 1_500_000, time.UTC)))
}

// newLadderWithBeacon calls clockIn2026. It returns a ladder that uses a beacon,
// and also the log of that ladder.
func newLadderWithBeacon() (*Ladder, *faultyLog) {
	clockIn2026()
	log := newFaultyLog()
	l := newLadder(log, ladder.Standard)
	l.options.Beacon = &fakeBeacon{}
	return l, log
}

// The event of a seating names a round. Anyone can derive the same round from the tick
// in the event.
func TestSeatingNamesARoundAfterTheTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, log := newLadderWithBeacon()
		s := seatOne(t, l)
		seated := storedIn(t, log, ladder.Standard)[0].(ladder.TablesSeated)
		chain := beacon.Quicknet()
		require.Equal(t, &beacon.Named{Chain: chain.Hash, Round: chain.After(seated.Tick)}, seated.Beacon)
		require.Equal(t, seated.Beacon, s.Beacon)
		require.False(t, chain.Time(seated.Beacon.Round).Before(seated.Tick.Add(2*chain.Period)))
	})
}

// While the beacon is behind, ticks do not seat any bots, but they still pass
// unfinished matches to the referee.
func TestNobodyIsSeatedWhileTheBeaconIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clockIn2026()
		a, b := given(3, ladder.Standard), &fakeBeacon{}
		a.options.Ladders[0].options.Beacon = b
		b.set(true)
		a.run(t)
		defer func() { a.stop() }()
		later(90 * time.Second)
		require.Empty(t, storedIn(t, a.log, ladder.Standard))
		require.Contains(t, a.lines.String(), "tables not seated; retrying at the next tick")
		require.Contains(t, a.lines.String(), errBehind.Error())
		b.set(false)
		later(30 * time.Second)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
		b.set(true)
		a.take()
		later(30 * time.Second)
		require.Contains(t, a.take(), "play 0.0")
	})
}

// Seat gives up if the log has not stored a seating by the time its round appears.
// Otherwise, the seeds could be known before the seating is stored.
func TestSeatingIsStoredBeforeItsRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, log := newLadderWithBeacon()
		var appends []fault
		for range 100 {
			appends = append(appends, lostBefore)
		}
		log.fail(appends, nil)
		began := time.Now()
		_, err := l.Seat(t.Context(), numbered(3), began, 0, unchecked)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(began), 9*time.Second)
		log.fail(nil, nil)
		require.Empty(t, storedIn(t, log, ladder.Standard))

		n, err := l.Seat(t.Context(), numbered(3), time.Now(), 0, unchecked)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

// If a match is voided because its round did not arrive, its bots are seated at the
// next tick, without a rest.
func TestBotsOfAMatchWithoutItsRoundDoNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, log := newLadderWithBeacon()
		s := seatOne(t, l)
		require.NoError(t, l.Void(t.Context(), s.MatchID, ladder.WhyBeacon))
		require.NotEqual(t, s.MatchID, seatOne(t, l).MatchID)
		require.Len(t, storedIn(t, log, ladder.Standard), 3)
	})
}

// rotation is a fake Rotation that rotates the key once.
type rotation struct {
	mu    sync.Mutex // guards the fields below
	calls int
	due   bool
	fails error
}

func (r *rotation) RotateIfDue(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if r.fails != nil || !r.due {
		return "", r.fails
	}
	r.due = false
	return "k2", nil
}

func (r *rotation) set(due bool, fails error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due, r.fails = due, fails
}

func TestSeedKeysAreRotatedAtTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, r := given(3, ladder.Standard, ladder.Parley), &rotation{}
		a.options.Rotation = r
		a.run(t)
		defer func() { a.stop() }()
		later(60 * time.Second)
		require.Equal(t, 3, r.calls, "once at each tick")
		require.NotContains(t, a.lines.String(), "rotated")
		r.set(true, eventstore.ErrUnavailable)
		later(30 * time.Second)
		require.Contains(t, a.lines.String(), "could not rotate the seed key; retrying at the next tick")
		r.set(true, nil)
		later(30 * time.Second)
		require.Contains(t, a.lines.String(), "seed key rotated as scheduled; back up the secrets file")
		require.Contains(t, a.lines.String(), "id=k2")
	})
}
