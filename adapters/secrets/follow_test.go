package secrets_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/secrets"
	"hexarena/domain/arena"
	"hexarena/eventstore"
	"hexarena/eventstore/memory"
)

func copies(t *testing.T, log eventstore.Log) []arena.SealedKey {
	t.Helper()
	var all []arena.Event
	for r, err := range log.Read(t.Context(), arena.SealedKeysStream, 0, eventstore.ReadOptions{}) {
		require.NoError(t, err)
		e, err := arena.DecodeSealedKeys(r.Type, r.Data)
		require.NoError(t, err)
		all = append(all, e)
	}
	require.Len(t, all, 1, "$maxCount is 1")
	return all[0].(arena.SeedKeysSealed).Keys
}

func requireKey(t *testing.T, s *secrets.Secrets, path, id string, want []byte) {
	t.Helper()
	require.Contains(t, s.SeedKeyIDs(), id)
	key, ok := s.SeedKey(t.Context(), id)
	require.True(t, ok)
	require.Equal(t, want, key)
	inFile, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(inFile), id)
	requireOnlyFile(t, path)
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, path := memory.New(), pathIn(t.TempDir())
		s := open(t, log, path)
		otherPath := onAnotherMachine(t, path)
		other := open(t, log, otherPath)
		var lines bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { other.Follow(ctx, slog.New(slog.NewTextHandler(&lines, nil))) })
		synctest.Wait()
		rotate(t, s)
		synctest.Wait()
		id, want := s.CurrentSeedKey()
		requireKey(t, other, otherPath, id, want)
		current, _ := other.CurrentSeedKey()
		require.Equal(t, id, current)
		require.Empty(t, lines.String())

		// An older version rotates, and later a process that has the key starts.
		oldPath := onAnotherMachine(t, path)
		addSeedKey(t, oldPath, "new")
		record(t, log, arena.SeedKeyAdded{ID: "new", Hash: arena.HashOf(bytes.Repeat([]byte{0x55}, 32))}, arena.SeedKeyRetired{ID: id})
		synctest.Wait()
		require.Error(t, other.Err())
		require.Equal(t, []string{"new"}, other.MissingSeedKeyIDs())
		require.NotContains(t, other.SeedKeyIDs(), "new")
		require.Contains(t, lines.String(), "seed keys are missing")
		open(t, log, oldPath)
		synctest.Wait()
		require.NoError(t, other.Err())
		requireKey(t, other, otherPath, "new", bytes.Repeat([]byte{0x55}, 32))
		stop()
		following.Wait()
	})
}

func TestFollowWaitsForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, path := memory.New(), pathIn(t.TempDir())
		s := open(t, log, path)
		before := len(copies(t, log))
		connection := &away{Log: log}
		otherPath := onAnotherMachine(t, path)
		other := open(t, connection, otherPath)
		connection.set(true)
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { other.Follow(ctx, slog.New(slog.DiscardHandler)) })
		synctest.Wait()
		rotate(t, s)
		require.Len(t, copies(t, log), before+1)
		id, want := s.CurrentSeedKey()
		<-time.After(time.Minute)
		require.NotContains(t, other.SeedKeyIDs(), id)
		_, ok := other.SeedKey(t.Context(), id)
		require.False(t, ok)
		connection.set(false)
		<-time.After(time.Minute)
		requireKey(t, other, otherPath, id, want)
		stop()
		following.Wait()
	})
}

func TestRotationStoresTheCopyFirst(t *testing.T) {
	for name, stores := range map[string]bool{"not stored": false, "stored without an answer": true} {
		t.Run(name, func(t *testing.T) {
			log, path := memory.New(), pathIn(t.TempDir())
			open(t, log, path)
			before := eventsOf(t, log)
			s := open(t, failing{Log: log, stream: arena.SealedKeysStream, stores: stores}, path)
			_, err := s.Rotate(t.Context(), "once a year", metadata())
			require.ErrorIs(t, err, eventstore.ErrUnavailable)
			require.Equal(t, before, eventsOf(t, log))
			require.NoError(t, s.Refresh(t.Context()))
			rotate(t, open(t, log, path))
		})
	}
}

func TestPublishedKeysNeedNoCopy(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	s := open(t, log, path)
	otherPath := onAnotherMachine(t, path)
	rotate(t, s)
	published, key := s.CurrentSeedKey()
	for range 20 {
		rotate(t, s)
		_, err := s.PublishRetired(t.Context(), func(context.Context) (map[string]bool, error) { return nil, nil })
		require.NoError(t, err)
	}
	rotate(t, s)
	require.Len(t, copies(t, log), 2, "the new key, and the retired key that is not published yet")

	other := open(t, log, otherPath)
	require.Len(t, other.SeedKeyIDs(), 2)
	got, ok := other.SeedKey(t.Context(), published)
	require.True(t, ok)
	require.Equal(t, key, got)
	require.NotContains(t, other.SeedKeyIDs(), published)
	_, ok = other.SeedKey(t.Context(), "unknown")
	require.False(t, ok)
}

func TestPublishRetiredKeyOfAnotherMachine(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	s := open(t, log, path)
	other := open(t, log, onAnotherMachine(t, path))
	r := rotate(t, s)
	rotate(t, s)
	ids, err := other.PublishRetired(t.Context(), func(context.Context) (map[string]bool, error) { return nil, nil })
	require.NoError(t, err)
	require.Contains(t, ids, r.Added)
	require.Len(t, ids, 2)
}

func TestSimultaneousStartsSealOnce(t *testing.T) {
	for range 20 {
		log, path := memory.New(), pathIn(t.TempDir())
		open(t, log, path)
		one, two := onAnotherMachine(t, path), onAnotherMachine(t, path)
		addSeedKey(t, one, "new")
		addSeedKey(t, two, "new")
		record(t, log, arena.SeedKeyAdded{ID: "new", Hash: arena.HashOf(bytes.Repeat([]byte{0x55}, 32))})
		_, errs := openAtOnce(t, log, one, two)
		require.NoError(t, errs[0])
		require.NoError(t, errs[1])
		require.Len(t, copies(t, log), 2)
		require.NoError(t, open(t, log, path).Err())
	}
}

func TestFileOfAnotherArenaIsNotOverwritten(t *testing.T) {
	log, path := memory.New(), pathIn(t.TempDir())
	s := open(t, log, path)
	otherPath := onAnotherMachine(t, path)
	other := open(t, log, otherPath)
	foreign := pathIn(t.TempDir())
	open(t, memory.New(), foreign)
	data, err := os.ReadFile(foreign)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(otherPath, data, 0o600))
	rotate(t, s)
	require.NoError(t, other.Refresh(t.Context()), "the key is in memory")
	_, err = other.Rotate(t.Context(), "once a year", metadata())
	requireLine(t, err, "now belongs to another arena")
	after, err := os.ReadFile(otherPath)
	require.NoError(t, err)
	require.Equal(t, data, after)
}

// away is a log that cannot be read while it is set.

type away struct {
	eventstore.Log
	mu   sync.Mutex
	away bool
}

func (a *away) set(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = on
}

func (a *away) now() eventstore.Log {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		return unreadable{a.Log}
	}
	return a.Log
}

func (a *away) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, o eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return a.now().Read(ctx, id, from, o)
}
