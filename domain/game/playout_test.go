package game_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/game"
	"hexarena/domain/seed"
)

// seedFrom returns a match seed drawn from rng.
func seedFrom(rng *game.Rand) (s seed.Seed) {
	for i := range s {
		s[i] = byte(rng.Uint64() >> 56)
	}
	return s
}

func BenchmarkPlayout(b *testing.B) {
	rng := game.NewRand(1)
	var actions, turns int
	var ends [3]int
	b.ReportAllocs()
	for b.Loop() {
		s := game.New(seedFrom(&rng), 4)
		actions += game.Playout(&s, &rng)
		turns += int(s.Turn)
		ends[s.Ending()]++
	}
	n := float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "games/s")
	b.ReportMetric(float64(actions)/b.Elapsed().Seconds(), "actions/s")
	b.ReportMetric(float64(actions)/n, "actions/game")
	b.ReportMetric(float64(turns)/n, "turns/game")
	b.ReportMetric(100*float64(ends[game.Win])/n, "%win")
	b.ReportMetric(100*float64(ends[game.Stalemate])/n, "%stalemate")
	b.ReportMetric(100*float64(ends[game.TurnCap])/n, "%turn_cap")
}

func TestPlayoutAllocatesNothing(t *testing.T) {
	rng := game.NewRand(2)
	require.Zero(t, testing.AllocsPerRun(20, func() {
		s := game.New(seedFrom(&rng), 4)
		game.Playout(&s, &rng)
	}))
}
