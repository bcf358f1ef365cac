package export_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/adapters/export"
	"hexarena/domain/ladder"
	"hexarena/eventstore/memory"
	"hexarena/projections/arenatest"
)

// BenchmarkExport measures the cost of exporting events from an in-memory log. The
// command `arena bench export` includes the cost of reading from a node.
func BenchmarkExport(b *testing.B) {
	log := memory.New()
	a := arenatest.New(b, log, 7)
	bots := a.Register("ada", ladder.Standard, "Ann", "Bea", "Cat", "Dot")
	for range 60 {
		a.Complete(ladder.Standard, bots...)
	}
	for _, format := range export.Formats {
		b.Run(format, func(b *testing.B) {
			events := 0
			for b.Loop() {
				o := options(b.TempDir(), format)
				o.PerFile = 1000
				done, err := export.Run(b.Context(), log, o)
				require.NoError(b, err)
				events += done.Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
