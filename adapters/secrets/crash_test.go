package secrets_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/secrets"
	"hexarena/domain/arena"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

// The type failing is a log whose appends to a stream return an error. If stores is
// true, it stores the events before it returns the error. By default, it affects all
// streams.
type failing struct {
	eventstore.Log
	stores bool
	stream eventstore.StreamID
}

func (f failing) Append(ctx context.Context, id eventstore.StreamID, expected eventstore.Expected, events ...eventstore.Event) (eventstore.Appended, error) {
	if f.stream != "" && f.stream != id {
		return f.Log.Append(ctx, id, expected, events...)
	}
	if f.stores {
		if _, err := f.Log.Append(ctx, id, expected, events...); err != nil {
			return eventstore.Appended{}, err
		}
	}
	return eventstore.Appended{}, eventstore.ErrUnavailable
}

func TestNextStartCompletesInterruptedFirstStart(t *testing.T) {
	crashes := map[string]func(t *testing.T, log eventstore.Log, path string){
		"at the beginning": func(*testing.T, eventstore.Log, string) {},
		"while the file is written": func(t *testing.T, _ eventstore.Log, path string) {
			half := filepath.Join(filepath.Dir(path), ".secrets-1")
			require.NoError(t, os.WriteFile(half, []byte(`{"version"`), 0o600))
		},
		"after the file": func(t *testing.T, log eventstore.Log, path string) {
			_, err := secrets.Open(t.Context(), failing{Log: log}, path, true)
			require.ErrorIs(t, err, eventstore.ErrUnavailable)
			require.FileExists(t, path)
		},
		"after the append, before its acknowledgement": func(t *testing.T, log eventstore.Log, path string) {
			_, err := secrets.Open(t.Context(), failing{Log: log, stores: true}, path, true)
			require.ErrorIs(t, err, eventstore.ErrUnavailable)
		},
	}
	for name, crash := range crashes {
		t.Run(name, func(t *testing.T) {
			log, path := memory.New(), pathIn(t.TempDir())
			crash(t, log, path)
			before, _ := os.ReadFile(path)

			s := open(t, log, path)
			keys, revision := keysOf(t, log)
			require.Equal(t, eventstore.Expected(2), revision)
			require.Equal(t, arena.HashOf(s.EmailKey()), keys.Email[0])
			if before != nil {
				after, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, before, after, "the existing file is used")
			}
		})
	}
}

// openAtOnce opens all files at the same time.
func openAtOnce(t *testing.T, log eventstore.Log, paths ...string) ([]*secrets.Secrets, []error) {
	t.Helper()
	opened, errs := make([]*secrets.Secrets, len(paths)), make([]error, len(paths))
	var starts sync.WaitGroup
	for i, path := range paths {
		starts.Go(func() { opened[i], errs[i] = secrets.Open(t.Context(), log, path, true) })
	}
	starts.Wait()
	return opened, errs
}

func TestSimultaneousFirstStartsOnOneFileAgree(t *testing.T) {
	for range 50 {
		log, path := memory.New(), pathIn(t.TempDir())
		opened, errs := openAtOnce(t, log, path, path, path, path)
		for i, s := range opened {
			require.NoError(t, errs[i])
			require.Equal(t, opened[0].Platform(), s.Platform())
			require.Equal(t, opened[0].EmailKey(), s.EmailKey())
		}
		_, revision := keysOf(t, log)
		require.Equal(t, eventstore.Expected(2), revision)
		requireOnlyFile(t, path)
	}
}

func TestSimultaneousFirstStartsOnTwoFilesHaveOneWinner(t *testing.T) {
	for range 50 {
		log := memory.New()
		a, b := pathIn(t.TempDir()), pathIn(t.TempDir())
		opened, errs := openAtOnce(t, log, a, b)
		winner, loser := 0, 1
		if errs[0] != nil {
			winner, loser = 1, 0
		}
		require.NoError(t, errs[winner])
		require.Error(t, errs[loser])
		require.NotContains(t, errs[loser].Error(), "\n")
		keys, revision := keysOf(t, log)
		require.Equal(t, eventstore.Expected(2), revision)
		require.Equal(t, keys.Email[0], arena.HashOf(opened[winner].EmailKey()))
	}
}

// The type unreadable is a log that cannot be read.
type unreadable struct{ eventstore.Log }

func (unreadable) Read(context.Context, eventstore.StreamID, eventstore.Revision, eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		yield(eventstore.Recorded{}, eventstore.ErrUnavailable)
	}
}

func TestNoFileIsCreatedDuringOutage(t *testing.T) {
	path := pathIn(t.TempDir())
	_, err := secrets.Open(t.Context(), unreadable{memory.New()}, path, true)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.NoFileExists(t, path)
}
