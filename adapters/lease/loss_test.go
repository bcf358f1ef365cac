package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"hexarena/adapters/lease"
	"hexarena/domain/arena"
	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

// store appends an event of another process to arena-player.
func store(t *testing.T, log eventstore.Log, e arena.Event) {
	t.Helper()
	encoded, err := eventstore.Encode(e, eventstore.Metadata{At: time.Now()})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), arena.PlayerStream, eventstore.Any, encoded)
	require.NoError(t, err)
}

// If the log has lost events, a waiting process continues to wait, and a holder renews
// its lease.
func TestAcquireAndLeaseSurviveALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &faulty{Log: memory.New()}
		log.losing.Store(3)
		l := acquire(t, log, t.TempDir())
		log.losing.Store(1)
		pass(time.Minute)
		require.False(t, isLost(l))
		release(t, l)
	})
}

// A holder whose claim is lost stops at its next renewal. A holder that only loses
// renewals keeps its lease.
func TestHolderOfALostClaimStops(t *testing.T) {
	for name, c := range map[string]struct {
		kept int // events of the log that are not lost: a release, this process's claim, its renewals
		lost bool
	}{"the claim": {1, true}, "the renewals": {2, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := logtest.NewLosing(memory.New())
				store(t, log, arena.PlayerReleased{Holder: "another", Generation: 4})
				l := acquire(t, log, t.TempDir())
				require.EqualValues(t, 5, l.Generation())
				pass(11 * time.Second)
				log.Become(logtest.CopyInto(t, memory.New(), log.Log(), c.kept))
				pass(5 * time.Second)
				require.Equal(t, c.lost, isLost(l))
				if c.lost {
					require.ErrorIs(t, l.Err(), arena.ErrNotSeating)
				}
				release(t, l)
			})
		})
	}
}

// After a loss, another event of the holder may have the revision of the last one that a
// waiting process saw. The waiting process counts from the new event.
func TestAcquireTellsEventsOfOneRevisionApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logtest.NewLosing(memory.New())
		store(t, log, arena.PlayerClaimed{Holder: "another", Generation: 1})
		folder, acquired := openFolder(t, t.TempDir()), make(chan held, 1)
		go func() {
			l, err := lease.Acquire(t.Context(), log, folder)
			assert.NoError(t, err)
			acquired <- held{l, folder}
		}()
		pass(14 * time.Second)
		other := memory.New()
		store(t, other, arena.PlayerRenewed{Holder: "another", Generation: 1})
		log.Become(other)
		pass(14 * time.Second)
		require.Empty(t, acquired)
		pass(3 * time.Second)
		release(t, <-acquired)
	})
}
