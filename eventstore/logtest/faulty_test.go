package logtest_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"hexarena/eventstore"
	"hexarena/eventstore/logtest"
	"hexarena/eventstore/memory"
)

const stream eventstore.StreamID = "faulty-1"

func event() eventstore.Event {
	return eventstore.Event{ID: uuid.New(), Type: "Happened", Data: []byte(`{}`)}
}

func read(t *testing.T, log eventstore.Log) (n int, err error) {
	for _, err := range log.Read(t.Context(), stream, 0, eventstore.ReadOptions{}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func TestFaultyAppends(t *testing.T) {
	log := logtest.NewFaulty(memory.New())
	log.FailAppend(2, logtest.NotStored)
	log.FailAppend(3, logtest.StoredAnyway)
	for nth, want := range []struct {
		fails  bool
		stored int
	}{{false, 1}, {true, 1}, {true, 2}, {false, 3}} {
		_, err := log.Append(t.Context(), stream, eventstore.Any, event())
		require.Equal(t, want.fails, err != nil, "append %d", nth+1)
		if want.fails {
			require.ErrorIs(t, err, logtest.ErrInjected)
			require.ErrorIs(t, err, eventstore.ErrUnavailable)
		}
		n, err := read(t, log)
		require.NoError(t, err)
		require.Equal(t, want.stored, n, "append %d", nth+1)
	}
	require.Equal(t, 4, log.Appends())
}

// A rejected append was not stored, so Faulty must not replace its error.
func TestFaultyKeepsTheErrorOfTheLog(t *testing.T) {
	log := logtest.NewFaulty(memory.New())
	log.FailAppend(1, logtest.StoredAnyway)
	_, err := log.Append(t.Context(), stream, eventstore.At(7), event())
	require.True(t, eventstore.IsWrongVersion(err), "%v", err)
}

func TestFaultyReads(t *testing.T) {
	for before, want := range map[int]int{0: 0, 1: 1, 3: 3, 9: 3} {
		log := logtest.NewFaulty(memory.New())
		_, err := log.Append(t.Context(), stream, eventstore.Any, event(), event(), event())
		require.NoError(t, err)
		log.FailRead(2, before)
		n, err := read(t, log)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		n, err = read(t, log)
		require.ErrorIs(t, err, logtest.ErrInjected)
		require.Equal(t, want, n)
		for _, err := range log.ReadAll(t.Context(), 0, eventstore.ReadOptions{Limit: 1}) {
			require.NoError(t, err)
		}
		require.Equal(t, 3, log.Reads())
	}
}

func TestFaultyHooks(t *testing.T) {
	log := logtest.NewFaulty(memory.New())
	log.BeforeAppend(1, func() {
		_, err := log.Log.Append(t.Context(), stream, eventstore.NoStream, event())
		require.NoError(t, err)
	})
	_, err := log.Append(t.Context(), stream, eventstore.NoStream, event())
	require.True(t, eventstore.IsWrongVersion(err), "%v", err)
}
