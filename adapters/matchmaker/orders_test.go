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

// ordersOf answer what a test has them answer.
type ordersOf func(ctx context.Context) (bool, error)

func (o ordersOf) MaySeat(ctx context.Context) (bool, error) { return o(ctx) }

func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		may, fails := false, error(nil)
		a.config.Orders = ordersOf(func(context.Context) (bool, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			return may, fails
		})
		a.run(t)
		defer func() { a.stop() }()
		require.Empty(t, storedIn(t, a.log, ladder.Standard), "a drain")
		require.Empty(t, a.lines.String())

		a.set(func(*arena) { may, fails = true, errors.New("the log is away") })
		later(30 * time.Second)
		require.Empty(t, storedIn(t, a.log, ladder.Standard), "orders that nobody knows")
		require.Contains(t, a.lines.String(), "operators' orders are unknown")

		a.set(func(*arena) { fails = nil })
		later(30 * time.Second)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
		a.set(func(*arena) { may = false })
		a.take()
		later(30 * time.Second)
		require.Equal(t, []string{"play 0.0"}, a.take(), "what is on goes on")
	})
}

// Orders are asked for before the seed key is, so that what a rotation has
// stored is seated under.
func TestASeatingFollowsItsOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard)
		a.keys = noKeys{}
		a.config.Orders = ordersOf(func(context.Context) (bool, error) {
			a.set(func(a *arena) { a.keys = seedKeys{} })
			return true, nil
		})
		a.run(t)
		defer func() { a.stop() }()
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)
	})
}

// Whoever stores orders waits for ticks that seat, and keeps the next waiting.
func TestBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := given(3, ladder.Standard, ladder.Parley)
		release := make(chan struct{})
		var ticks atomic.Int32
		a.catchUp = func(context.Context) error {
			if ticks.Add(1) <= 2 { // the first of each mode
				<-release
			}
			return nil
		}
		a.run(t)
		defer func() { a.stop() }()

		stored := false
		go a.Between(func() { stored = true })
		go a.Between(func() {})
		synctest.Wait()
		require.False(t, stored, "two ticks seat")
		release <- struct{}{}
		synctest.Wait()
		require.False(t, stored, "one does")
		release <- struct{}{}
		synctest.Wait()
		require.True(t, stored)
		require.Len(t, storedIn(t, a.log, ladder.Standard), 1)

		hold := make(chan struct{})
		go a.Between(func() { <-hold })
		synctest.Wait()
		a.take()
		a.set(func(a *arena) { a.bots = numbered(8) })
		later(30 * time.Second)
		require.NotContains(t, a.take(), "catch up")
		close(hold)
		synctest.Wait()
		require.Contains(t, a.take(), "catch up", "the ticks that waited go on")
	})
}
