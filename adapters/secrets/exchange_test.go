package secrets_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/secrets"
	"hexarena/domain/arena"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

var sealedKind = eventstore.Kind[arena.SealedKeys, arena.Event]{Decode: arena.DecodeSealedKeys, Evolve: arena.EvolveSealedKeys}

func sealedKeys(t *testing.T, log eventstore.Log) arena.SealedKeys {
	t.Helper()
	keys, _, err := sealedKind.Load(t.Context(), log, arena.SealedKeysStream, arena.SealedKeys{})
	require.NoError(t, err)
	return keys
}

// onAnotherMachine copies a secrets file to a folder of its own.
func onAnotherMachine(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	other := pathIn(t.TempDir())
	require.NoError(t, os.WriteFile(other, data, 0o600))
	return other
}

// requireActive checks that a process has the key that the log names as active.
func requireActive(t *testing.T, log eventstore.Log, s *secrets.Secrets) {
	t.Helper()
	keys, _ := keysOf(t, log)
	active, _ := keys.CurrentSeed()
	id, key := s.CurrentSeedKey()
	require.Equal(t, active.ID, id)
	require.Equal(t, active.Hash, arena.HashOf(key))
	require.Empty(t, s.MissingSeedKeyIDs())
	require.Contains(t, s.SeedKeyIDs(), id)
	require.NoError(t, s.Err())
}

// A process gets the key of another machine at the tick (Refresh), at a table
// (SeedKey), at the start (Open), and while it waits (Follow). Its file then contains
// the key.
func TestRotationReachesAnotherMachine(t *testing.T) {
	ways := map[string]func(t *testing.T, log eventstore.Log, path string, other *secrets.Secrets, rotate func() string) *secrets.Secrets{
		"at the tick": func(t *testing.T, _ eventstore.Log, _ string, other *secrets.Secrets, rotate func() string) *secrets.Secrets {
			rotate()
			require.NoError(t, other.Refresh(t.Context()))
			return other
		},
		"at a table": func(t *testing.T, _ eventstore.Log, _ string, other *secrets.Secrets, rotate func() string) *secrets.Secrets {
			_, ok := other.SeedKey(t.Context(), rotate())
			require.True(t, ok)
			return other
		},
		"at the start": func(t *testing.T, log eventstore.Log, path string, _ *secrets.Secrets, rotate func() string) *secrets.Secrets {
			rotate()
			return open(t, log, path)
		},
		"while it waits": func(t *testing.T, _ eventstore.Log, _ string, other *secrets.Secrets, rotate func() string) *secrets.Secrets {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); other.Follow(ctx, slog.New(slog.DiscardHandler)) }()
			synctest.Wait()
			rotate()
			synctest.Wait()
			stop()
			<-done
			return other
		},
	}
	for name, get := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, path := memory.New(), pathIn(t.TempDir())
				first := open(t, log, path)
				otherPath := onAnotherMachine(t, path)
				second := open(t, log, otherPath)
				var added string
				second = get(t, log, otherPath, second, func() string { added = rotate(t, first).Added; return added })
				requireActive(t, log, second)
				_, want := first.CurrentSeedKey()
				_, got := second.CurrentSeedKey()
				require.Equal(t, want, got)
				require.Equal(t, first.SeedKeyIDs(), second.SeedKeyIDs(), "also the retired key")
				requireOnlyFile(t, otherPath)
				stored, err := os.ReadFile(otherPath)
				require.NoError(t, err)
				require.Contains(t, string(stored), added)
			})
		})
	}
}

// A process with a wrong or damaged copy says which key it lacks. After the owner of the
// key has started again, the copy is whole.
func TestDamagedCopyIsReportedAndReplaced(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	first := open(t, log, path)
	second := open(t, log, onAnotherMachine(t, path))
	added := rotate(t, first).Added
	broken := sealedKeys(t, log)
	for i := range broken.Keys {
		broken.Keys[i].Sealed[20] ^= 1
	}
	encoded, err := eventstore.EncodeAll([]arena.Event{arena.SeedKeysSealed(broken)}, eventstore.Metadata{})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), arena.SealedKeysStream, eventstore.Any, encoded...)
	require.NoError(t, err)

	for range 2 {
		err = second.Refresh(t.Context())
		requireLine(t, err, `the seed key "`+added+`" is missing`)
		requireLine(t, err, `copy of the seed key "`+added+`" is damaged`)
		requireLine(t, err, "start an arena that has this key")
		require.Equal(t, []string{added}, second.MissingSeedKeyIDs())
		require.NotContains(t, second.SeedKeyIDs(), added)
	}
	id, key := second.CurrentSeedKey()
	require.Empty(t, id)
	require.Nil(t, key)

	open(t, log, path)
	require.NoError(t, second.Refresh(t.Context()))
	requireActive(t, log, second)
}

// The copy is in the log before arena-keys names the key. If the process dies between
// the two appends, the old key stays active, and the next rotation works.
func TestCrashBetweenCopyAndName(t *testing.T) {
	for _, stream := range []eventstore.StreamID{arena.SealedKeysStream, arena.KeysStream} {
		t.Run(string(stream), func(t *testing.T) {
			log, path := memory.New(), pathIn(t.TempDir())
			old, _ := open(t, log, path).CurrentSeedKey()
			second := open(t, log, onAnotherMachine(t, path))
			dying := open(t, failing{Log: log, stream: stream}, path)
			_, err := dying.Rotate(t.Context(), "once a year", metadata())
			require.ErrorIs(t, err, eventstore.ErrUnavailable)

			want := 1
			if stream == arena.KeysStream {
				want = 2 // the copy of the unnamed key
			}
			require.Len(t, sealedKeys(t, log).Keys, want)
			require.NoError(t, second.Refresh(t.Context()))
			requireActive(t, log, second)
			require.Equal(t, []string{old}, second.SeedKeyIDs())

			rotate(t, second)
			again := open(t, log, path)
			requireActive(t, log, again)
			require.Len(t, sealedKeys(t, log).Keys, want+1)
		})
	}
}

// In the log of an older version, a process with all keys stores the copies when it
// starts. A process without the file's newest key then gets it.
func TestFirstStartOnAnOlderLogSealsKeys(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	open(t, log, path)
	otherPath := onAnotherMachine(t, path)
	addSeedKey(t, path, "new")
	reader, err := secrets.Open(t.Context(), log, path, false)
	require.NoError(t, err)
	key, ok := reader.SeedKey(t.Context(), "new")
	require.True(t, ok)
	record(t, log, arena.SeedKeyAdded{ID: "new", Hash: arena.HashOf(key)})
	second := open(t, log, otherPath)
	requireLine(t, second.Err(), `no copy of the seed key "new"`)

	open(t, log, path)
	require.NoError(t, second.Refresh(t.Context()))
	requireActive(t, log, second)
	copied := sealedKeys(t, log)
	require.Len(t, copied.Keys, 2)

	n := 0
	for _, err := range log.Read(t.Context(), arena.SealedKeysStream, 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 1, n, "only the last event is kept")
	open(t, log, path)
	require.Equal(t, copied, sealedKeys(t, log), "nothing is sealed twice")
}

// If the file cannot be written, the process uses the key anyway, and writes it later.
func TestKeyFromTheLogIsUsedBeforeItIsSaved(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	first := open(t, log, path)
	otherPath := onAnotherMachine(t, path)
	second := open(t, log, otherPath)
	rotate(t, first)
	away := filepath.Dir(otherPath) + "-away"
	require.NoError(t, os.Rename(filepath.Dir(otherPath), away))
	require.NoError(t, second.Refresh(t.Context()))
	requireActive(t, log, second)

	require.NoError(t, os.Rename(away, filepath.Dir(otherPath)))
	require.NoError(t, second.Refresh(t.Context()))
	id, _ := second.CurrentSeedKey()
	stored, err := os.ReadFile(otherPath)
	require.NoError(t, err)
	require.Contains(t, string(stored), id)
}
