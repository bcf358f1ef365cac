package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"hexarena/cmd/arena/logs"
	"hexarena/domain/ladder"
	"hexarena/eventstore"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/leaderboard"
)

// With a node and the official client, the leaderboard changes as soon as the event
// that rates a match arrives, even if no other event follows. The test waits for the
// change without polling, and logs how long it took.
func TestLeaderboardShowsAnEndedMatch(t *testing.T) {
	embedded, err := logs.OpenEmbedded(t.Context(), t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, embedded.Close()) }()
	log := embedded.Log
	board := leaderboard.New()
	runner, err := projections.Open(t.TempDir(), log, board, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	defer func() {
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, runner.Close())
	}()

	a := arenatest.New(t, log, 7)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat")
	for played := 1; played <= 3; played++ {
		g := a.Complete(ladder.Standard, bots...)
		begun := time.Now()
		require.NoError(t, runner.Wait(t.Context(), endOf(t, log)))
		t.Logf("the leaderboard had match %d after %s", played, time.Since(begun))
		rows := board.Rows(ladder.Standard, func(id string) (string, string, bool) { return id, "", true })
		require.Len(t, rows, 3)
		for _, row := range rows {
			require.Equal(t, played, row.GamesPlayed)
			h, ok, err := board.History(row.BotID)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, g.MatchID, h.Points[played-1].MatchID)
			require.Equal(t, row.Rating, h.Points[played-1].Displayed())
		}
	}
	rebuilt := leaderboard.New()
	again, err := projections.Open(t.TempDir(), log, rebuilt, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	require.NoError(t, again.Sync(t.Context()))
	var live, fromScratch bytes.Buffer
	require.NoError(t, errors.Join(runner.Dump(&live), again.Dump(&fromScratch)))
	require.Equal(t, live.String(), fromScratch.String())
}

// endOf returns the position of the last event in a log.
func endOf(t *testing.T, log eventstore.Log) eventstore.Position {
	t.Helper()
	for r, err := range log.ReadAll(t.Context(), eventstore.EndPosition, eventstore.ReadOptions{Direction: eventstore.Backwards, Limit: 1}) {
		require.NoError(t, err)
		return r.Position
	}
	require.Fail(t, "the log is empty")
	return 0
}
