package signedlog_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/ladder"
	"hexarena/projections/arenatest"
	"hexarena/projections/signedlog"
)

// BenchmarkFold folds whole matches from scratch.
func BenchmarkFold(b *testing.B) {
	w := newFixture(b)
	const matches = 20
	for n := range matches {
		w.play.Complete(ladder.Standard, w.play.Register("ada", ladder.Standard, fmt.Sprint("a", n), fmt.Sprint("b", n), fmt.Sprint("c", n), fmt.Sprint("d", n))...)
	}
	folded := 0
	for b.Loop() {
		require.NoError(b, arenatest.Follow(b, w.log, signedlog.New(w.log)).Sync(b.Context()))
		folded += matches
	}
	b.ReportMetric(float64(folded)/b.Elapsed().Seconds(), "matches/s")
}

// BenchmarkInclusion reads a proof and a head.
func BenchmarkInclusion(b *testing.B) {
	w := newFixture(b)
	g := w.stop(ladder.Standard, 0)
	for n := range 200 {
		w.stop(ladder.Standard, n+1)
	}
	w.sync()
	for b.Loop() {
		_, found, err := w.signed.Inclusion(b.Context(), ladder.Standard, g.MatchID)
		require.True(b, found)
		require.NoError(b, err)
		_, _, err = w.signed.Head(b.Context(), ladder.Standard)
		require.NoError(b, err)
	}
}
