package secrets_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/secrets"
	"hexarena/domain/arena"
	"hexarena/eventstore/memory"
)

const day = 24 * time.Hour

func rotateIfOlder(t *testing.T, s *secrets.Secrets, age time.Duration) secrets.Rotation {
	t.Helper()
	r, err := s.RotateIfOlder(t.Context(), age, time.Now())
	require.NoError(t, err)
	return r
}

// The age of a key is counted from the time of the key's event in the log, so a restart
// does not affect it.
func TestSeedKeyIsRotatedAtItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, path := memory.New(), pathIn(t.TempDir())
		s := open(t, log, path)
		first, _ := s.CurrentSeedKey()
		<-time.After(day - time.Second)
		require.Zero(t, rotateIfOlder(t, s, day))
		s = open(t, log, path) // a restart
		require.Zero(t, rotateIfOlder(t, s, day))
		<-time.After(time.Second)
		r := rotateIfOlder(t, s, day)
		require.Equal(t, []string{first}, r.Retired)
		second, _ := s.CurrentSeedKey()
		require.Equal(t, r.Added, second)
		require.Zero(t, rotateIfOlder(t, s, day), "the new key is young")
		require.Zero(t, rotateIfOlder(t, open(t, log, path), day))
		requireOnlyFile(t, path)

		<-time.After(5 * day) // the arena is not running during these days
		r = rotateIfOlder(t, open(t, log, path), day)
		require.Equal(t, []string{second}, r.Retired)
		e, _ := lastKeyEvent(t, log)
		require.Equal(t, arena.SeedKeyRetired{ID: second, Reason: "scheduled rotation"}, e)
	})
}

// If an operator rotates the key, the next scheduled rotation waits for the age of the
// new key.
func TestOrderedRotationPostponesTheScheduledOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, path := memory.New(), pathIn(t.TempDir())
		s := open(t, log, path)
		<-time.After(day / 2)
		rotate(t, s)
		<-time.After(day / 2)
		require.Zero(t, rotateIfOlder(t, s, day))
		<-time.After(day / 2)
		require.NotZero(t, rotateIfOlder(t, s, day))
	})
}

// If two processes try to rotate the key at the same time, only one of them does.
func TestTwoProcessesRotateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, path := memory.New(), pathIn(t.TempDir())
		processes := []*secrets.Secrets{open(t, log, path), open(t, log, path)}
		<-time.After(day)
		rotations, errs := make([]secrets.Rotation, len(processes)), make([]error, len(processes))
		var all sync.WaitGroup
		for i, s := range processes {
			all.Go(func() { rotations[i], errs[i] = s.RotateIfOlder(t.Context(), day, time.Now()) })
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
		require.NotEqual(t, rotations[0].Added == "", rotations[1].Added == "", "only one of them adds a key")
		keys, _ := keysOf(t, log)
		require.Len(t, keys.Seeds, 2)
	})
}

// A rotation keeps the keys that another process has added to the file.
func TestRotationKeepsKeysOfAnotherProcess(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	first, second := open(t, log, path), open(t, log, path)
	one, two := rotate(t, first), rotate(t, second)
	again := open(t, log, path)
	for _, id := range []string{one.Added, two.Added} {
		_, ok := again.SeedKey(t.Context(), id)
		require.True(t, ok)
	}
}

// A process that shares the file finds a key that another process has added.
func TestSeedKeyOfAnotherProcess(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	player, reader := open(t, log, path), open(t, log, path)
	r := rotate(t, player)
	_, want := player.CurrentSeedKey()
	key, ok := reader.SeedKey(t.Context(), r.Added)
	require.True(t, ok)
	require.Equal(t, want, key)
	_, ok = reader.SeedKey(t.Context(), "unknown")
	require.False(t, ok)
}
