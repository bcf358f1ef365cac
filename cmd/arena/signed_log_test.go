package main

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/eventstore/memory"
	"hexarena/projections"
	"hexarena/projections/arenatest"
	"hexarena/projections/signedlog"
)

// A head with fewer results than the event log contains would look as if the log had
// been truncated. So the arena serves no head until the signed log is complete.
func TestNoHeadBeforeTheSignedLogIsComplete(t *testing.T) {
	log := memory.New()
	play := arenatest.New(t, log, 1)
	g := play.Complete(ladder.Standard, play.Register("ada", ladder.Standard, "Ann", "Bea", "Cat")...)
	model := signedlog.New(log)
	r := newSignedLogReader(model, arenatest.Follow(t, log, model))
	refused := func(want error) {
		_, err := r.Size(t.Context(), ladder.Standard)
		require.ErrorIs(t, err, want)
		_, _, err = r.Head(t.Context(), ladder.Standard)
		require.ErrorIs(t, err, want)
		_, _, err = r.Inclusion(t.Context(), ladder.Standard, g.MatchID)
		require.ErrorIs(t, err, want)
	}
	refused(projections.ErrBehind)
	keepUpToDate(t, r.runner)
	require.NoError(t, r.catchUp(t.Context()))
	size, _, err := r.Head(t.Context(), ladder.Standard)
	require.NoError(t, err)
	require.EqualValues(t, 1, size)
	_, found, err := r.Inclusion(t.Context(), ladder.Standard, g.MatchID)
	require.NoError(t, err)
	require.True(t, found)

	contradiction := play.Seat(ladder.Standard, play.Register("ada", ladder.Standard, "Dot", "Eve", "Fay")...)[0]
	contradiction.Start()
	contradiction.Void(ladder.WhyOperator)
	require.Error(t, r.runner.Sync(t.Context()))
	refused(projections.ErrStopped)
}

// keepUpToDate runs a read model until the test ends.
func keepUpToDate(t *testing.T, r *projections.Runner) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) }) // its error is also that of Sync
	t.Cleanup(func() { stop(); running.Wait() })
}

// A process that cannot sign heads cannot start matches, so it takes none.
func TestProcessTakesMatchesOnceItSignsHeads(t *testing.T) {
	log := memory.New()
	model := signedlog.New(log)
	kept, err := openKeptHeads(t.TempDir())
	require.NoError(t, err)
	a := &arena{config: config{MaxMatches: 7}, signedLog: newSignedLogReader(model, arenatest.Follow(t, log, model)), heads: &ladderHeads{kept: kept}}
	require.ErrorIs(t, a.cannotStart(), projections.ErrBehind)
	require.Zero(t, a.takes())
	keepUpToDate(t, a.signedLog.runner)
	require.NoError(t, a.signedLog.catchUp(t.Context()))
	require.NoError(t, a.cannotStart())
	require.Equal(t, 7, a.takes())

	none := func(uint64, uint64) ([][]byte, error) { return nil, nil }
	require.NoError(t, kept.keep(signedlog.Head{Origin: "o", Size: 2, Root: make([]byte, 32)}, none))
	require.Error(t, kept.keep(signedlog.Head{Origin: "o", Size: 3, Root: make([]byte, 32)}, none))
	require.ErrorContains(t, a.cannotStart(), "lost events")
	require.Zero(t, a.takes())
}
