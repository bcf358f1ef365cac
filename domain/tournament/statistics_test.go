package tournament_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"hexarena/domain/tournament"
	"hexarena/eventstore/logtest"
)

// The bounds are the probabilities at which the score test is just at its limit: the
// observed share is 1.96 standard deviations away.
func TestWilson(t *testing.T) {
	low, high := tournament.Wilson(0, 0)
	require.Equal(t, []float64{0, 1}, []float64{low, high})
	for n := 1; n < 200; n++ {
		for wins := range n + 1 {
			low, high := tournament.Wilson(wins, n)
			share := float64(wins) / float64(n)
			limit := func(bound float64) float64 { return 1.959964 * math.Sqrt(bound*(1-bound)/float64(n)) }
			require.InDelta(t, share-low, limit(low), 1e-6, "%d of %d: %v", wins, n, low)
			require.InDelta(t, high-share, limit(high), 1e-6, "%d of %d: %v", wins, n, high)
			require.True(t, 0 <= low && low <= share && share <= high && high <= 1, "%d of %d: %v to %v", wins, n, low, high)
		}
	}
	low, high = tournament.Wilson(81, 263) // the example of Newcombe, 1998
	require.InDelta(t, 0.2553, low, 5e-5)
	require.InDelta(t, 0.3662, high, 5e-5)
}

// order returns a result without ties.
func order(bots ...int) tournament.Result {
	r := tournament.Result{Bots: bots}
	for i := range bots {
		r.Places = append(r.Places, i+1)
	}
	return r
}

func repeat(n int, results ...tournament.Result) []tournament.Result {
	return slices.Repeat(results, n)
}

// Between two bots, the model is that of Bradley and Terry, whose solution has a formula.
func TestFitOfTwoBots(t *testing.T) {
	got := tournament.Fit(append(repeat(3000, order(0, 1)), repeat(1000, order(1, 0))...), 2)
	gap := 400 * math.Log10(3)
	require.InDelta(t, gap/2, got[0].Rating, 0.1) // the prior pulls a little
	require.InDelta(t, -gap/2, got[1].Rating, 0.1)
	// The variance of the logarithm of the odds is 1/3000 + 1/1000.
	half := 1.96 * math.Sqrt(1.0/3000+1.0/1000) * 400 / math.Ln10 / 2
	require.InDelta(t, half, got[0].High-got[0].Rating, 0.1)
	require.InDelta(t, half, got[1].Rating-got[1].Low, 0.1)
}

// A draw is half a win for each of two bots, as with Elo.
func TestFitCountsATieAsHalfAWin(t *testing.T) {
	tie := tournament.Result{Bots: []int{1, 0}, Places: []int{1, 1}}
	ties := tournament.Fit(append(repeat(50, order(0, 1)), repeat(50, tie)...), 2)
	halves := tournament.Fit(append(repeat(75, order(0, 1)), repeat(25, order(1, 0))...), 2)
	for i := range ties {
		require.InDelta(t, halves[i].Rating, ties[i].Rating, 1e-6)
		require.InDelta(t, halves[i].Low, ties[i].Low, 1e-6)
	}
	all := tournament.Result{Bots: []int{0, 1, 2, 3}, Places: []int{1, 1, 1, 1}}
	for _, s := range tournament.Fit(repeat(10, all), 4) {
		require.InDelta(t, 0, s.Rating, 1e-6)
	}
}

func TestFitIsFinite(t *testing.T) {
	require.Empty(t, tournament.Fit(nil, 0))
	require.Equal(t, []tournament.Strength{{}}, tournament.Fit(nil, 1))
	for name, results := range map[string][]tournament.Result{
		"no matches":          nil,
		"one match":           {order(0, 1, 2)},
		"always wins":         repeat(2000, order(0, 1, 2), order(0, 2, 1)),
		"always loses":        repeat(2000, order(1, 2, 0), order(2, 1, 0)),
		"always in order":     repeat(2000, order(0, 1, 2)),
		"bots that never met": repeat(100, order(0, 1)),
		"only itself":         repeat(100, order(0, 0, 0)),
	} {
		sum := 0.0
		for _, s := range tournament.Fit(results, 3) {
			require.Less(t, s.Low, s.Rating, name)
			require.Less(t, s.Rating, s.High, name)
			require.Less(t, math.Abs(s.Low)+math.Abs(s.High), 10_000.0, name)
			sum += s.Rating
		}
		require.InDelta(t, 0, sum, 1e-6, name)
	}
	got := tournament.Fit(repeat(1000, order(0, 1, 2), order(0, 2, 1)), 3)
	require.Greater(t, got[0].Low, got[1].High)
	require.InDelta(t, got[1].Rating, got[2].Rating, 1e-6)
}

// The order of the results, and that of the bots in a result, must not matter.
func TestFitIgnoresOrder(t *testing.T) {
	results := []tournament.Result{order(0, 1, 2), order(0, 2, 1), order(1, 0, 2), {Bots: []int{2, 1, 0}, Places: []int{1, 2, 2}}}
	turned := []tournament.Result{{Bots: []int{0, 2, 1}, Places: []int{4, 1, 4}}, {Bots: []int{2, 0, 1}, Places: []int{3, 2, 1}}, order(0, 2, 1), order(0, 1, 2)}
	want, got := tournament.Fit(results, 3), tournament.Fit(turned, 3)
	for i := range want {
		require.InDelta(t, want[i].Rating, got[i].Rating, 1e-6)
		require.InDelta(t, want[i].High, got[i].High, 1e-6)
	}
}

// simulate plays one match by the model.
func simulate(random *rand.Rand, strength []float64) tournament.Result {
	// The arrival times of exponential variables have the order of Plackett and Luce.
	arrival := make([]float64, len(strength))
	bots := make([]int, len(strength))
	for i, s := range strength {
		bots[i] = i
		arrival[i] = random.ExpFloat64() / s
	}
	slices.SortFunc(bots, func(a, b int) int {
		if arrival[a] < arrival[b] {
			return -1
		}
		return 1
	})
	return order(bots...)
}

// The intervals of simulated tournaments must contain the true ratings in 95 % of the
// cases.
func TestFitIntervalsHold(t *testing.T) {
	random := logtest.Random(t)
	strength := []float64{1, 2, 4, 0.5}
	mean := 0.0
	for _, s := range strength {
		mean += 400 * math.Log10(s) / float64(len(strength))
	}
	const tournaments = 500
	inside := 0
	for range tournaments {
		var results []tournament.Result
		for range 100 {
			results = append(results, simulate(random, strength))
		}
		for i, s := range tournament.Fit(results, len(strength)) {
			if truth := 400*math.Log10(strength[i]) - mean; s.Low <= truth && truth <= s.High {
				inside++
			}
		}
	}
	share := float64(inside) / float64(tournaments*len(strength))
	t.Logf("%.1f %% of the intervals contain the true rating", 100*share)
	// Six standard errors, so that the test never fails by chance.
	require.InDelta(t, 0.95, share, 0.04)
}

// The quantiles of Student's t are those of the usual tables. 1, 2, 3, 4, 5 has the mean
// 3 and the standard deviation 1.5811.
func TestMeanInterval(t *testing.T) {
	for n, quantile := range map[int]float64{2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 11: 2.228, 31: 2.042, 101: 1.984, 10001: 1.960} {
		values := make([]float64, n)
		values[0] = 1
		mean, low, high, ok := tournament.MeanInterval(values)
		require.True(t, ok)
		require.InDelta(t, 1/float64(n), mean, 1e-9)
		require.InDelta(t, quantile/float64(n), mean-low, 0.002*quantile/float64(n), "n = %d", n) // the standard error is 1/n
		require.InDelta(t, mean-low, high-mean, 1e-9)
	}
	mean, low, high, ok := tournament.MeanInterval([]float64{5, 1, 4, 2, 3})
	require.True(t, ok)
	require.InDelta(t, 3, mean, 1e-9)
	require.InDelta(t, 3-2.776*1.5811/math.Sqrt(5), low, 1e-3)
	require.InDelta(t, 3+2.776*1.5811/math.Sqrt(5), high, 1e-3)
	mean, _, _, ok = tournament.MeanInterval([]float64{7})
	require.False(t, ok)
	require.InDelta(t, 7, mean, 0)
	_, _, _, ok = tournament.MeanInterval(nil)
	require.False(t, ok)
}
