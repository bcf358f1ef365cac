package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/lease"
	"hexarena/domain/arena"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

func TestLeaseIsLostIfItCannotBeRenewed(t *testing.T) {
	faults := map[string]func(*faulty, bool){
		"the log is unavailable": func(f *faulty, on bool) { f.away.Store(on) },
		"the log hangs":          func(f *faulty, on bool) { f.hung.Store(on) },
		"no append is acknowledged": func(f *faulty, on bool) {
			f.lostAcks.Store(0)
			if on {
				f.lostAcks.Store(1 << 40)
			}
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &faulty{Log: memory.New()}
				l := acquire(t, log, t.TempDir())
				pass(5 * time.Second)
				renewed := time.Now()
				fault(log, true)
				<-l.Lost()
				require.Equal(t, lease.Length, time.Since(renewed))
				require.ErrorIs(t, l.Err(), lease.ErrUnrenewed)
				require.ErrorIs(t, l.Err(), eventstore.ErrUnavailable)
				fault(log, false)
				release(t, l)
			})
		})
	}
}

func TestLeaseSurvivesShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New()}
		l := acquire(t, log, t.TempDir())
		pass(time.Second)
		log.away.Store(true)
		pass(12500 * time.Millisecond)
		log.away.Store(false)
		pass(time.Minute)
		require.False(t, isLost(l))
		release(t, l)
	})
}

func TestLeaseSurvivesLostAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New()}
		l := acquire(t, log, t.TempDir())
		log.lostAcks.Store(2)
		pass(time.Minute)
		require.False(t, isLost(l))
		release(t, l)
	})
}

func TestClaimWithLostAcknowledgementIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New()}
		log.lostAcks.Store(1)
		start := time.Now()
		l := acquire(t, log, t.TempDir())
		defer release(t, l)
		require.Equal(t, time.Second, time.Since(start), "the second attempt finds its own claim")
		require.EqualValues(t, 2, l.Generation())
	})
}

func TestPausedProcessLearnsThatItWasReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		connection := &faulty{Log: log}
		paused := acquire(t, connection, t.TempDir())
		connection.pauseNext.Store(int64(time.Minute))
		next := acquire(t, log, t.TempDir())
		pass(time.Minute)
		require.True(t, isLost(paused))
		require.ErrorIs(t, paused.Err(), arena.ErrNotSeating)
		require.NotNil(t, paused.Gate(), "the gate stays closed")
		require.Nil(t, next.Gate())
		require.False(t, isLost(next))

		release(t, paused) // has no effect on the new holder
		e, _ := last(t, log)
		require.IsType(t, arena.PlayerRenewed{}, e)
		require.Equal(t, next.folder.ID, e.(arena.PlayerRenewed).Holder)
		release(t, next)
	})
}

func TestPausedProcessContinuesIfNobodyReplacedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New()}
		l := acquire(t, log, t.TempDir())
		log.pauseNext.Store(int64(time.Hour))
		require.Nil(t, l.Gate())
		pass(time.Minute)
		closed := l.Gate()
		require.NotNil(t, closed, "another process may have taken the lease")
		pass(2 * time.Hour)
		require.False(t, isLost(l))
		<-closed
		require.Nil(t, l.Gate())
		e, _ := last(t, log)
		require.Equal(t, arena.PlayerRenewed{Holder: l.folder.ID, Generation: 1, Host: e.(arena.PlayerRenewed).Host}, e)
		release(t, l)
	})
}

func TestWaitingProcessSurvivesShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		crash(t, acquire(t, log, t.TempDir()))
		connection := &faulty{Log: log}
		go func() {
			pass(3 * time.Second)
			connection.away.Store(true)
			pass(5 * time.Second)
			connection.away.Store(false)
		}()
		l := acquire(t, connection, t.TempDir())
		release(t, l)
	})
}

func TestAcquireWaitsForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New()}
		log.away.Store(true)
		go func() {
			pass(time.Hour)
			log.away.Store(false)
		}()
		start := time.Now()
		release(t, acquire(t, log, t.TempDir()))
		require.InDelta(t, time.Hour.Seconds(), time.Since(start).Seconds(), 1)
	})
}
