package lease_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/lease"
	"hexarena/domain/arena"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

// pass advances the clock of the synctest bubble, and waits until all
// goroutines are blocked.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func acquire(t *testing.T, log eventstore.Log, folder string) *lease.Lease {
	t.Helper()
	l, err := lease.Acquire(t.Context(), log, folder)
	require.NoError(t, err)
	return l
}

func release(t *testing.T, l *lease.Lease) {
	t.Helper()
	require.NoError(t, l.Release(t.Context()))
}

// crash ends a lease as if the process had been killed: it unlocks the folder, but does
// not write a release to the log.
func crash(t *testing.T, l *lease.Lease) {
	t.Helper()
	ended, end := context.WithCancel(t.Context())
	end()
	require.Error(t, l.Release(ended))
}

func isLost(l *lease.Lease) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

// The function last() returns the only event of arena-player.
func last(t *testing.T, log eventstore.Log) (arena.Event, eventstore.Revision) {
	t.Helper()
	var event arena.Event
	var revision eventstore.Revision
	n := 0
	for r, err := range log.Read(t.Context(), arena.PlayerStream, 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		event, err = arena.DecodePlayer(r.Type, r.Data)
		require.NoError(t, err)
		revision = r.Revision
		n++
	}
	require.Equal(t, 1, n, "$maxCount is 1")
	return event, revision
}

func TestLeaseIsRenewedEveryFiveSecondsAndReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		l := acquire(t, log, t.TempDir())
		require.EqualValues(t, 1, l.Generation())
		for want := range eventstore.Revision(100) {
			e, revision := last(t, log)
			require.Equal(t, want, revision)
			if want > 0 {
				require.IsType(t, arena.PlayerRenewed{}, e)
			}
			pass(5 * time.Second)
		}
		release(t, l)
		e, _ := last(t, log)
		require.IsType(t, arena.PlayerReleased{}, e)
		require.Equal(t, l.Holder(), e.(arena.PlayerReleased).Holder)
		require.False(t, isLost(l), "a released lease is not lost")
		require.NoError(t, l.Err())
		release(t, l)
	})
}

func TestAcquireFailsWhileAnotherProcessRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		first := acquire(t, log, t.TempDir())
		defer release(t, first)

		start := time.Now()
		_, err := lease.Acquire(t.Context(), log, t.TempDir())
		var held *arena.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, first.Holder(), held.By.Holder)
		require.NotContains(t, err.Error(), "\n")
		require.Equal(t, lease.Length, time.Since(start))
		require.False(t, isLost(first))
	})
}

func TestAcquireTakesLeaseOfDeadProcessAfterItsLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		dead := acquire(t, log, t.TempDir())
		pass(7 * time.Second)
		crash(t, dead)

		start := time.Now()
		next := acquire(t, log, t.TempDir())
		defer release(t, next)
		require.Equal(t, lease.Length, time.Since(start), "measured by the waiting process")
		require.EqualValues(t, 2, next.Generation())
	})
}

func TestRestartTakesItsOwnLeaseBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, folder := memory.New(), t.TempDir()
		before := acquire(t, log, folder)
		crash(t, before)

		start := time.Now()
		after := acquire(t, log, folder)
		defer release(t, after)
		require.Zero(t, time.Since(start))
		require.Equal(t, before.Holder(), after.Holder())
		require.EqualValues(t, 2, after.Generation())
	})
}

func TestWaitingProcessTakesReleasedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		old := acquire(t, log, t.TempDir())
		released := make(chan error, 1)
		go func() {
			pass(8500 * time.Millisecond)
			released <- old.Release(t.Context())
		}()
		start := time.Now()
		next := acquire(t, log, t.TempDir())
		defer release(t, next)
		require.Equal(t, 9*time.Second, time.Since(start), "at the next read")
		require.NoError(t, <-released)
	})
}

func TestOneOfManyWaitingProcessesTakesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		crash(t, acquire(t, log, t.TempDir()))
		won, refused := acquireAtOnce(t, log, 5)
		require.Len(t, won, 1)
		require.Len(t, refused, 4)
		release(t, won[0])
	})
}

// acquireAtOnce tries to acquire the lease for n folders at the same time. It
// returns the acquired leases, and the errors of the failed calls.
func acquireAtOnce(t *testing.T, log eventstore.Log, n int) (won []*lease.Lease, refused []*arena.HeldError) {
	t.Helper()
	leases, errs := make([]*lease.Lease, n), make([]error, n)
	var starts sync.WaitGroup
	for i := range n {
		folder := t.TempDir()
		starts.Go(func() { leases[i], errs[i] = lease.Acquire(t.Context(), log, folder) })
	}
	starts.Wait()
	for i, err := range errs {
		if err == nil {
			won = append(won, leases[i])
			continue
		}
		var held *arena.HeldError
		require.ErrorAs(t, err, &held)
		refused = append(refused, held)
	}
	return won, refused
}

func TestSimultaneousFirstStartsGiveOneLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		won, refused := acquireAtOnce(t, log, 2)
		require.Len(t, won, 1)
		require.Len(t, refused, 1)
		release(t, won[0])
	})
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		first := acquire(t, log, t.TempDir())
		defer release(t, first)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		folder := t.TempDir()
		_, err := lease.Acquire(ctx, log, folder)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		release(t, first)
		next := acquire(t, log, folder) // shows that the failed call unlocked the folder
		release(t, next)
	})
}
