package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/matchmaker"
	"hexarena/cmd/arena/logs"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
)

// countedReads is a log that counts how many events of a stream are read.
type countedReads struct {
	eventstore.Log
	stream eventstore.StreamID
	n      int
}

func (c *countedReads) Read(ctx context.Context, id eventstore.StreamID, from eventstore.Revision, opt eventstore.ReadOptions) iter.Seq2[eventstore.Recorded, error] {
	return func(yield func(eventstore.Recorded, error) bool) {
		for r, err := range c.Log.Read(ctx, id, from, opt) {
			if id == c.stream {
				c.n++
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// With a node and the official client, a process that folds a long ladder at startup
// stores a snapshot. The next process starts from the snapshot and reaches the same
// state.
func TestStartFromASnapshot(t *testing.T) {
	embedded, err := logs.OpenEmbedded(t.Context(), t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, embedded.Close()) }()
	log := embedded.Log
	const stream, matches = "ladder-standard", 5001 // each match has two events, except the last
	storeMatches(t, log, stream, matches)

	begin := func() (*matchmaker.Ladder, int) {
		counted := &countedReads{Log: log, stream: stream}
		l := matchmaker.NewLadder(counted, matchmaker.LadderOptions{Mode: ladder.Standard, Logger: slog.New(slog.DiscardHandler)})
		unfinished, err := l.Unfinished(t.Context())
		require.NoError(t, err)
		require.Len(t, unfinished, 1)
		require.Equal(t, fmt.Sprint("match-", matches-1), unfinished[0].MatchID)
		return l, counted.n
	}
	l, read := begin()
	require.Equal(t, 2*matches-1, read)
	ctx, stop := context.WithCancel(t.Context())
	keeping := make(chan struct{})
	go func() { defer close(keeping); l.TakeSnapshots(ctx) }()
	for m, err := range log.Subscribe(t.Context(), 0, eventstore.Filter{StreamPrefixes: []string{ladder.SnapshotPrefix}}) {
		require.NoError(t, err)
		if m.Event != nil {
			break
		}
	}
	stop()
	<-keeping

	begun := time.Now()
	l, read = begin()
	t.Logf("a start from the snapshot took %s", time.Since(begun))
	require.Equal(t, 1, read, "only the last event of the snapshot")
	require.NoError(t, l.Void(t.Context(), fmt.Sprint("match-", matches-1), ladder.WhyOperator))
	require.ErrorIs(t, l.Void(t.Context(), "match-7", ladder.WhyOperator), ladder.ErrAlreadyFinished)
}

// storeMatches stores a ladder on which matches were seated and voided, one after
// another. The last match is still open.
func storeMatches(t *testing.T, log eventstore.Log, stream eventstore.StreamID, matches int) {
	t.Helper()
	var events []ladder.Event
	for i := range matches {
		id := fmt.Sprint("match-", i)
		events = append(events,
			ladder.TablesSeated{SeedKey: "k1", Tables: []ladder.Table{{MatchID: id, Bots: []string{"a", "b", "c"}}}},
			ladder.MatchVoided{MatchID: id, Why: ladder.WhyOperator})
	}
	events = events[:len(events)-1]
	const batch = 1000
	for from := 0; from < len(events); from += batch {
		encoded, err := eventstore.EncodeAll(events[from:min(from+batch, len(events))], eventstore.Metadata{At: time.Now()})
		require.NoError(t, err)
		_, err = log.Append(t.Context(), stream, eventstore.Any, encoded...)
		require.NoError(t, err)
	}
}
