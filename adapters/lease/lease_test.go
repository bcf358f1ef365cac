package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
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

// The type held is a lease with its open folder.
type held struct {
	*lease.Lease
	folder *lease.Folder
}

// openFolder opens a folder until the test ends.
func openFolder(t *testing.T, path string) *lease.Folder {
	t.Helper()
	f, err := lease.OpenFolder(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func acquire(t *testing.T, log eventstore.Log, path string) held {
	t.Helper()
	f := openFolder(t, path)
	l, err := lease.Acquire(t.Context(), log, f)
	require.NoError(t, err)
	return held{l, f}
}

func release(t *testing.T, l held) {
	t.Helper()
	require.NoError(t, l.Release(t.Context()))
	_ = l.folder.Close() // a test may release a lease twice
}

// crash ends a lease as if the process had been killed: it unlocks the folder, but does
// not write a release to the log.
func crash(t *testing.T, l held) {
	t.Helper()
	ended, end := context.WithCancel(t.Context())
	end()
	require.Error(t, l.Release(ended))
	require.NoError(t, l.folder.Close())
}

func isLost(l held) bool {
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
		require.Equal(t, l.folder.ID, e.(arena.PlayerReleased).Holder)
		require.False(t, isLost(l), "a released lease is not lost")
		require.NoError(t, l.Err())
		release(t, l)
	})
}

func TestAcquireWaitsWhileAnotherProcessRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		first := acquire(t, log, t.TempDir())
		go func() {
			pass(10 * time.Minute)
			assert.False(t, isLost(first))
			assert.NoError(t, first.Release(t.Context()))
		}()
		start := time.Now()
		next := acquire(t, log, t.TempDir())
		defer release(t, next)
		require.Equal(t, 10*time.Minute, time.Since(start).Truncate(lease.Length))
		require.EqualValues(t, 2, next.Generation())
	})
}

// The time starts again at each renewal. The dead process renewed its lease for the last
// time at 60 s, and the waiting process reads the stream every second.
func TestAcquireWatchesTheLastRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		dead, folder := acquire(t, log, t.TempDir()), openFolder(t, t.TempDir())
		start := time.Now()
		acquired := make(chan held)
		go func() {
			l, err := lease.Acquire(t.Context(), log, folder)
			assert.NoError(t, err)
			acquired <- held{l, folder}
		}()
		pass(62 * time.Second)
		crash(t, dead)
		next := <-acquired
		defer release(t, next)
		require.InDelta(t, (60*time.Second + lease.Length).Seconds(), time.Since(start).Seconds(), 1)
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
		require.Equal(t, before.folder.ID, after.folder.ID)
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

// Of several processes that wait for the lease, one gets it. The others get it one after
// another, when its holder releases it.
func TestWaitingProcessesTakeTurns(t *testing.T) {
	for name, given := range map[string]func(t *testing.T, log eventstore.Log){
		"after a crash": func(t *testing.T, log eventstore.Log) { crash(t, acquire(t, log, t.TempDir())) },
		"at the start":  func(*testing.T, eventstore.Log) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := memory.New()
				given(t, log)
				won := make(chan held)
				for range 5 {
					folder := openFolder(t, t.TempDir())
					go func() {
						l, err := lease.Acquire(t.Context(), log, folder)
						assert.NoError(t, err)
						won <- held{l, folder}
					}()
				}
				for range 5 {
					l := <-won
					pass(2 * lease.Length)
					select {
					case <-won:
						require.Fail(t, "two processes hold the lease")
					default:
					}
					require.False(t, isLost(l))
					release(t, l)
				}
			})
		})
	}
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		first := acquire(t, log, t.TempDir())
		defer release(t, first)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := lease.Acquire(ctx, log, openFolder(t, t.TempDir()))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
