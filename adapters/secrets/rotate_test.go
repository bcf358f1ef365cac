package secrets_test

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/secrets"
	"hexarena/domain/arena"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

func metadata() eventstore.Metadata {
	return eventstore.Metadata{At: time.Now(), Correlation: "request-1"}
}

func rotate(t *testing.T, s *secrets.Secrets) secrets.Rotation {
	t.Helper()
	r, err := s.Rotate(t.Context(), "once a year", metadata())
	require.NoError(t, err)
	return r
}

func TestRotateReplacesTheActiveKey(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	s := open(t, log, path)
	old, oldKey := s.CurrentSeedKey()

	r := rotate(t, s)
	require.Equal(t, []string{old}, r.Retired)
	id, key := s.CurrentSeedKey()
	require.Equal(t, r.Added, id)
	require.NotEqual(t, oldKey, key)
	byID, ok := s.SeedKey(t.Context(), old)
	require.True(t, ok, "matches under the old key can continue")
	require.Equal(t, oldKey, byID)
	requireOnlyFile(t, path)

	keys, _ := keysOf(t, log)
	for i := range keys.Seeds {
		require.NotZero(t, keys.Seeds[i].Added)
		keys.Seeds[i].Added = time.Time{}
	}
	require.Equal(t, []arena.SeedKey{
		{ID: old, Hash: arena.HashOf(oldKey), Retired: true},
		{ID: id, Hash: arena.HashOf(key)},
	}, keys.Seeds)
	require.Equal(t, 5, eventsOf(t, log))

	again := open(t, log, path)
	reopened, reopenedKey := again.CurrentSeedKey()
	require.Equal(t, id, reopened)
	require.Equal(t, key, reopenedKey)
	require.Equal(t, s.Platform(), again.Platform())
	require.Equal(t, s.EmailKey(), again.EmailKey())
}

func TestRotationStoresReasonAndRequest(t *testing.T) {
	log := memory.New()
	s := open(t, log, pathIn(t.TempDir()))
	rotate(t, s)
	e, m := lastKeyEvent(t, log)
	require.Equal(t, "once a year", e.(arena.SeedKeyRetired).Reason)
	require.Equal(t, "request-1", m.Correlation)
}

// lastKeyEvent returns the last event of arena-keys.
func lastKeyEvent(t *testing.T, log eventstore.Log) (arena.Event, eventstore.Metadata) {
	t.Helper()
	var last eventstore.Recorded
	for r, err := range log.Read(t.Context(), arena.KeysStream, 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		last = r
	}
	e, err := arena.DecodeKeys(last.Type, last.Data)
	require.NoError(t, err)
	m, err := eventstore.DecodeMetadata(last)
	require.NoError(t, err)
	return e, m
}

// After a failed rotation, Refresh activates the key that the log names as active, and
// the file contains that key.
func TestFailedRotationKeepsFileAndLogConsistent(t *testing.T) {
	for name, stored := range map[string]bool{"before the append": false, "after the append": true} {
		t.Run(name, func(t *testing.T) {
			log, path := memory.New(), pathIn(t.TempDir())
			old, _ := open(t, log, path).CurrentSeedKey()
			s := open(t, failing{Log: log, stores: stored, stream: arena.KeysStream}, path)
			_, err := s.Rotate(t.Context(), "once a year", metadata())
			require.ErrorIs(t, err, eventstore.ErrUnavailable)

			require.NoError(t, s.Refresh(t.Context()))
			keys, _ := keysOf(t, log)
			current, _ := keys.CurrentSeed()
			id, key := s.CurrentSeedKey()
			require.Equal(t, current.ID, id)
			require.Equal(t, current.Hash, arena.HashOf(key))
			require.Equal(t, stored, id != old)

			again := open(t, log, path)
			rotate(t, again)
			requireOnlyFile(t, path)
		})
	}
}

func TestRotationWithoutReasonChangesNothing(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	s := open(t, log, path)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = s.Rotate(t.Context(), " ", metadata())
	require.ErrorIs(t, err, arena.ErrNoReason)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Equal(t, 3, eventsOf(t, log))
}

func TestRotationStoresNoEventIfTheFileCannotBeWritten(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	s := open(t, log, path)
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	_, err := s.Rotate(t.Context(), "once a year", metadata())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	require.Equal(t, 3, eventsOf(t, log))
}

func TestRotationKeepsSymbolicLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("creating links on Windows needs special rights")
	}
	log, path := memory.New(), pathIn(t.TempDir())
	open(t, log, path)
	link := filepath.Join(t.TempDir(), "link.json")
	require.NoError(t, os.Symlink(path, link))
	rotate(t, open(t, log, link))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	requireOnlyFile(t, path)
	open(t, log, path)
}

// Refresh fails if the log names a key of which it has no copy. An older version stores
// no copies.
func TestRefreshFailsWithoutTheActiveKey(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	s := open(t, log, path)
	record(t, log, arena.SeedKeyAdded{ID: "new"})

	requireLine(t, s.Refresh(t.Context()), `the seed key "new" is missing, but the log still uses it`)
	id, key := s.CurrentSeedKey()
	require.Empty(t, id)
	require.Empty(t, key)
}

func TestConcurrentRotations(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	s := open(t, log, path)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := s.Rotate(t.Context(), "at once", metadata())
			if err == nil {
				err = s.Refresh(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() { s.CurrentSeedKey() })
	}
	all.Wait()
	keys, _ := keysOf(t, log)
	require.Len(t, keys.Seeds, 9)
	current, _ := keys.CurrentSeed()
	id, _ := s.CurrentSeedKey()
	require.Equal(t, current.ID, id)
	reopened, _ := open(t, log, path).CurrentSeedKey()
	require.Equal(t, id, reopened)
}
