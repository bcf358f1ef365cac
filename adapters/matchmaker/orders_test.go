package matchmaker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
)

// ordersFunc implements Orders with a function.
type ordersFunc func(ctx context.Context) (bool, error)

func (o ordersFunc) MaySeat(ctx context.Context) (bool, error) { return o(ctx) }

func TestSeatingFollowsOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		may, fails := false, error(nil)
		a.options.Orders = ordersFunc(func(context.Context) (bool, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			return may, fails
		})
		a.run(t)
		defer func() { a.stop() }()
		require.Empty(t, storedIn(t, a.log, ladder.Standard), "while the orders forbid seating")
		require.Empty(t, a.lines.String())

		a.set(func(*arena) { may, fails = true, errors.New("the log is unavailable") })
		later(30 * time.Second)
		require.Empty(t, storedIn(t, a.log, ladder.Standard), "while the orders are unknown")
		require.Contains(t, a.lines.String(), "could not read the operators' orders")

		a.set(func(*arena) { fails = nil })
		later(30 * time.Second)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
		a.set(func(*arena) { may = false })
		a.take()
		later(30 * time.Second)
		require.Equal(t, []string{"play 0.0"}, a.take(), "unfinished matches continue")
	})
}

// A tick reads the orders before it reads the seed key, so that it uses the key of
// the newest rotation.
func TestSeatingUsesSeedKeyAfterReadingOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		a.keys = noKeys{}
		a.options.Orders = ordersFunc(func(context.Context) (bool, error) {
			a.set(func(a *arena) { a.keys = seedKeys{} })
			return true, nil
		})
		a.run(t)
		defer func() { a.stop() }()
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
	})
}

func TestWithSeatingPausedExcludesSeatingTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard, ladder.Parley)
		release := make(chan struct{})
		var ticks atomic.Int32
		a.catchUp = func(context.Context) error {
			if ticks.Add(1) <= 2 { // the first tick of each mode
				<-release
			}
			return nil
		}
		a.run(t)
		defer func() { a.stop() }()

		stored := false
		go a.WithSeatingPaused(func() { stored = true })
		go a.WithSeatingPaused(func() {})
		synctest.Wait()
		require.False(t, stored, "two ticks are seating")
		release <- struct{}{}
		synctest.Wait()
		require.False(t, stored, "one tick is seating")
		release <- struct{}{}
		synctest.Wait()
		require.True(t, stored)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)

		hold := make(chan struct{})
		go a.WithSeatingPaused(func() { <-hold })
		synctest.Wait()
		a.take()
		a.set(func(a *arena) { a.bots = numbered(8) })
		later(30 * time.Second)
		require.NotContains(t, a.take(), "catch up")
		close(hold)
		synctest.Wait()
		require.Contains(t, a.take(), "catch up", "the waiting ticks continue")
	})
}
