package match

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever the bots answer, the batches begin where they were settled: a fold up to
// there has the same open decisions.
func TestBatchStarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		bots := wild(rng, rapid.SampledFrom([]int{0, 2, 10, 60, 100}).Draw(t, "madness"))
		m, first := begin(t, randomSeed(rng), rapid.IntRange(3, 4).Draw(t, "seats"))
		stop := rapid.IntRange(0, 400).Draw(t, "batches")
		events := first[1:]
		var want []int
		var asked [][]Decision
		for len(want) < stop && !m.Over() {
			want, asked = append(want, len(events)), append(asked, m.Asks())
			var batch []Event
			m, batch = step(t, m, bots)
			events = append(events, batch...)
		}
		if !m.Over() {
			want, asked = append(want, len(events)), append(asked, m.Asks())
		}
		start := Evolve(New(m.ServerSeed), first[0])
		require.Equal(t, want, BatchStarts(start, events))
		for i, at := range want {
			more := at - start.Seq
			start, events = EvolveAll(start, events[:more]), events[more:]
			require.Equal(t, asked[i], start.Asks())
		}
	})
}
