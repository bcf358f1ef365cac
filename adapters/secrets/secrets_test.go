package secrets_test

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/secrets"
	"hexarena/domain/arena"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

var kind = eventstore.Kind[arena.Keys, arena.Event]{Decode: arena.DecodeKeys, Evolve: arena.EvolveKeys}

func pathIn(folder string) string { return filepath.Join(folder, "secrets.json") }

func open(t *testing.T, log eventstore.Log, path string) *secrets.Secrets {
	t.Helper()
	s, err := secrets.Open(t.Context(), log, path, true)
	require.NoError(t, err)
	return s
}

func keysOf(t *testing.T, log eventstore.Log) (arena.Keys, eventstore.Expected) {
	t.Helper()
	keys, revision, err := kind.Load(t.Context(), log, arena.KeysStream, arena.Keys{})
	require.NoError(t, err)
	return keys, revision
}

// eventsOf returns the number of events in arena-keys.
func eventsOf(t *testing.T, log eventstore.Log) (n int) {
	t.Helper()
	for _, err := range log.Read(t.Context(), arena.KeysStream, 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		n++
	}
	return n
}

// record appends events to arena-keys.
func record(t *testing.T, log eventstore.Log, events ...arena.Event) {
	t.Helper()
	encoded, err := eventstore.EncodeAll(events, eventstore.Metadata{})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), arena.KeysStream, eventstore.Any, encoded...)
	require.NoError(t, err)
}

// requireLine checks that an error message is a single line and contains want.
func requireLine(t *testing.T, err error, want string) {
	t.Helper()
	require.ErrorContains(t, err, want)
	require.NotContains(t, err.Error(), "\n")
}

func TestFirstStartCreatesSecretsAndNamesThemInTheLog(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	s := open(t, log, path)

	keys, revision := keysOf(t, log)
	require.Equal(t, eventstore.Expected(2), revision, "three events")
	public := s.Platform().Public().(ed25519.PublicKey)
	require.Equal(t, keys.Platform, arena.PublicKey(public))
	require.Equal(t, []arena.Hash{arena.HashOf(s.EmailKey())}, keys.Email)
	id, key := s.CurrentSeedKey()
	require.Equal(t, []arena.SeedKey{{ID: id, Hash: arena.HashOf(key), Added: keys.Seeds[0].Added}}, keys.Seeds)
	byID, ok := s.SeedKey(t.Context(), id)
	require.True(t, ok)
	require.Equal(t, key, byID)
	require.Len(t, key, 32)
	require.Len(t, s.EmailKey(), 32)
	_, ok = s.SeedKey(t.Context(), "another")
	require.False(t, ok)
	requireOnlyFile(t, path)
}

// requireOnlyFile checks that only this user may read the file at path, and that its
// folder contains no other files.
func requireOnlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	info, err := entries[0].Info()
	require.NoError(t, err)
	require.Equal(t, filepath.Base(path), info.Name())
	if runtime.GOOS != "windows" {
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
}

func TestLaterStartReadsTheFile(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	first := open(t, log, path)
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	again := open(t, log, path)
	require.Equal(t, first.Platform(), again.Platform())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, revision := keysOf(t, log)
	require.Equal(t, eventstore.Expected(2), revision, "nothing is appended twice")
}

func TestKeysAreCopies(t *testing.T) {
	s := open(t, memory.New(), pathIn(t.TempDir()))
	id, key := s.CurrentSeedKey()
	clear(key)
	clear(s.EmailKey())
	same, _ := s.SeedKey(t.Context(), id)
	require.NotEqual(t, key, same)
	require.NotEqual(t, make([]byte, 32), s.EmailKey())
}

func TestOpenRejectsUnusableFile(t *testing.T) {
	tests := map[string]struct {
		change func(t *testing.T, log eventstore.Log, path string)
		want   string
	}{
		"the file is missing": {
			func(t *testing.T, _ eventstore.Log, path string) { require.NoError(t, os.Remove(path)) },
			"is missing, but this log was started with a secrets file: restore the file",
		},
		"others may read it": {
			func(t *testing.T, _ eventstore.Log, path string) { require.NoError(t, os.Chmod(path, 0o640)) },
			"is accessible to other users (mode 0640): run chmod 600 ",
		},
		"others may write it": {
			func(t *testing.T, _ eventstore.Log, path string) { require.NoError(t, os.Chmod(path, 0o602)) },
			"is accessible to other users (mode 0602): run chmod 600 ",
		},
		"it is damaged": {
			func(t *testing.T, _ eventstore.Log, path string) { require.NoError(t, os.Truncate(path, 100)) },
			"is damaged",
		},
		"it is empty": {
			func(t *testing.T, _ eventstore.Log, path string) { require.NoError(t, os.Truncate(path, 0)) },
			"is damaged",
		},
		"it is enormous": {
			func(t *testing.T, _ eventstore.Log, path string) { require.NoError(t, os.Truncate(path, 1<<30)) },
			"is larger than",
		},
		"it is a folder": {
			func(t *testing.T, _ eventstore.Log, path string) {
				require.NoError(t, os.Remove(path))
				require.NoError(t, os.Mkdir(path, 0o700))
			},
			"is not a regular file",
		},
		"it belongs to another arena": {
			func(t *testing.T, _ eventstore.Log, path string) {
				require.NoError(t, os.Remove(path))
				open(t, memory.New(), path)
			},
			"does not belong to this log: the platform key",
		},
		"a different email key": {
			func(t *testing.T, log eventstore.Log, _ string) { record(t, log, arena.EmailKeyAdded{}) },
			"does not belong to this log: the email key",
		},
		"the log holds an event of a different kind": {
			func(t *testing.T, log eventstore.Log, _ string) {
				encoded, err := eventstore.Encode(arena.DrainStarted{}, eventstore.Metadata{})
				require.NoError(t, err)
				_, err = log.Append(t.Context(), arena.KeysStream, eventstore.Any, encoded)
				require.NoError(t, err)
			},
			"unknown event type",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.HasPrefix(name, "others") {
				t.Skip("Windows uses ACLs instead of file modes")
			}
			log, path := memory.New(), pathIn(t.TempDir())
			open(t, log, path)
			tt.change(t, log, path)
			before := eventsOf(t, log)
			_, err := secrets.Open(t.Context(), log, path, true)
			requireLine(t, err, tt.want)
			require.Equal(t, before, eventsOf(t, log), "nothing is appended")
		})
	}
}

func TestFolderOfTheFileMustExist(t *testing.T) {
	log := memory.New()
	_, err := secrets.Open(t.Context(), log, pathIn(filepath.Join(t.TempDir(), "none")), true)
	require.ErrorIs(t, err, os.ErrNotExist)
	requireLine(t, err, "write the secrets file")
	_, revision := keysOf(t, log)
	require.Equal(t, eventstore.NoStream, revision)
}

func TestReaderNeedsNoSeedKey(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	open(t, log, path)
	record(t, log, arena.SeedKeyAdded{ID: "new"})
	s, err := secrets.Open(t.Context(), log, path, false)
	require.NoError(t, err)
	id, key := s.CurrentSeedKey()
	require.Empty(t, id)
	require.Nil(t, key)
}

func TestRetiredSeedKeysServeUnfinishedMatches(t *testing.T) {
	folder, log := t.TempDir(), memory.New()
	old, _ := open(t, log, pathIn(folder)).CurrentSeedKey()
	addSeedKey(t, pathIn(folder), "new")
	s := open(t, log, pathIn(folder)) // the file may contain a key that the log does not name yet
	id, _ := s.CurrentSeedKey()
	require.Equal(t, old, id)

	key, _ := s.SeedKey(t.Context(), "new")
	record(t, log, arena.SeedKeyAdded{ID: "new", Hash: arena.HashOf(key)}, arena.SeedKeyRetired{ID: old})
	s = open(t, log, pathIn(folder))
	id, _ = s.CurrentSeedKey()
	require.Equal(t, "new", id)
	_, ok := s.SeedKey(t.Context(), old)
	require.True(t, ok)
}

// addSeedKey adds a seed key to a secrets file.
func addSeedKey(t *testing.T, path, id string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	more := `, {"id": "` + id + `", "key": "` + strings.Repeat("5", 64) + `"}]`
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), "]", more, 1)), 0o600))
}
