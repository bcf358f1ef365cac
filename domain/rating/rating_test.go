package rating

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type vector struct {
	Before    []Rating `json:"before"`
	Placement []int    `json:"placement"`
	After     []Rating `json:"after"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/plackett-luce.json")
	require.NoError(t, err)
	var all []vector
	require.NoError(t, json.Unmarshal(data, &all))
	require.NotEmpty(t, all)
	return all
}

func TestRateAgreesWithTheVectors(t *testing.T) {
	worst := 0.0
	for n, v := range vectors(t) {
		after := Rate(v.Before, v.Placement)
		require.Len(t, after, len(v.After), "vector %d", n)
		for i := range after {
			require.InDelta(t, v.After[i].Mu, after[i].Mu, 1e-9, "mu of %d in vector %d", i, n)
			require.InDelta(t, v.After[i].Sigma, after[i].Sigma, 1e-9, "sigma of %d in vector %d", i, n)
			worst = max(worst, math.Abs(v.After[i].Mu-after[i].Mu), math.Abs(v.After[i].Sigma-after[i].Sigma))
		}
	}
	t.Logf("largest difference: %.2g", worst)
}

// This test pins every bit of some ratings. If a compiler, a processor or a change to
// the code alters even the last bit, recomputed ladders no longer match the stored
// ones.
func TestRateIsTheSameToTheLastBit(t *testing.T) {
	after := Rate([]Rating{{31.5, 2.25}, {28, 4}, New(), {22.75, 7.5}}, []int{2, 1, 2, 4})
	var bits [][2]uint64
	for _, r := range after {
		bits = append(bits, [2]uint64{math.Float64bits(r.Mu), math.Float64bits(r.Sigma)})
	}
	require.Equal(t, [][2]uint64{
		{0x403f6650a92d9431, 0x4001ff429e8082f4},
		{0x403ccd0662811601, 0x400ff1b7b9d62b72},
		{0x4038f5d3260d31e5, 0x40201632fb877b47},
		{0x403514b510a17d93, 0x401d51c5e45cc815},
	}, bits)
}

func TestNewAndDisplayed(t *testing.T) {
	require.Equal(t, Rating{25, 25.0 / 3}, New())
	for _, c := range []struct {
		r    Rating
		want float64
	}{
		{New(), 0},
		{Rating{25, 8}, 1},
		{Rating{30.25, 2}, 24.3}, // halves round away from zero
		{Rating{1.75, 2}, -4.3},
		{Rating{30.24, 2}, 24.2},
		{Rating{5.96, 2}, 0},
	} {
		got := c.r.Displayed()
		require.Equal(t, c.want, got)
		require.False(t, math.Signbit(got) && got == 0, "a negative zero")
	}
}

func TestRateNeedsOnePlacementEach(t *testing.T) {
	require.Panics(t, func() { Rate([]Rating{New()}, []int{1, 2}) })
	require.Empty(t, Rate(nil, nil))
}

func drawMatch(t *rapid.T) ([]Rating, []int) {
	n := rapid.IntRange(2, 4).Draw(t, "bots")
	before, placements := make([]Rating, n), make([]int, n)
	for i := range before {
		before[i] = Rating{
			Mu:    rapid.Float64Range(-200, 200).Draw(t, "mu"),
			Sigma: rapid.Float64Range(0.01, 25).Draw(t, "sigma"),
		}
		placements[i] = rapid.IntRange(1, n).Draw(t, "placement")
	}
	return before, placements
}

func TestRateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, placements := drawMatch(t)
		kept := append([]Rating(nil), before...)
		after := Rate(before, placements)
		require.Equal(t, kept, before, "the input does not change")
		require.Equal(t, after, Rate(before, placements), "a second call returns the same")
		for i, r := range after {
			require.False(t, math.IsNaN(r.Mu) || math.IsInf(r.Mu, 0), "mu %v", r.Mu)
			require.Greater(t, r.Sigma, 0.0)
			grown := math.Sqrt(before[i].Sigma*before[i].Sigma + tau*tau)
			require.LessOrEqual(t, r.Sigma, grown*(1+1e-12), "a match does not increase the uncertainty by more than tau")
			for j, other := range after {
				if before[i] == before[j] && placements[i] < placements[j] {
					require.GreaterOrEqual(t, r.Mu, other.Mu, "of two equal bots, the one that placed better gets the higher rating")
				}
			}
		}
	})
}

func TestOnlyTheOrderOfPlacementsCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, placements := drawMatch(t)
		spread := make([]int, len(placements))
		for i, p := range placements {
			spread[i] = 10*p + 3
		}
		require.Equal(t, Rate(before, placements), Rate(before, spread))
	})
}

// Reordering the bots does not change their ratings, apart from rounding errors: the
// sums are added in another order.
func TestRateDoesNotDependOnTheOrderOfBots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, placements := drawMatch(t)
		order := rapid.Permutation(indices(len(before))).Draw(t, "order")
		moved, movedPlacements := make([]Rating, len(before)), make([]int, len(before))
		for to, from := range order {
			moved[to], movedPlacements[to] = before[from], placements[from]
		}
		after, movedAfter := Rate(before, placements), Rate(moved, movedPlacements)
		for to, from := range order {
			require.InDelta(t, after[from].Mu, movedAfter[to].Mu, 1e-9)
			require.InDelta(t, after[from].Sigma, movedAfter[to].Sigma, 1e-9)
		}
	})
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func TestExpAgreesWithTheStandardLibrary(t *testing.T) {
	worst := 0.0
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.Float64Range(-700, 700)).Draw(t, "x")
		off := math.Abs(exp(x)/math.Exp(x) - 1)
		require.LessOrEqual(t, off, 0x1p-50, "exp(%v)", x)
		worst = max(worst, off)
	})
	t.Logf("largest relative difference: %.2g", worst)
	require.Equal(t, 1.0, exp(0))
	require.Equal(t, 0.0, exp(math.Inf(-1)))
	require.True(t, math.IsInf(exp(math.Inf(1)), 1))
	require.True(t, math.IsNaN(exp(math.NaN())))
}

func BenchmarkRate(b *testing.B) {
	before := []Rating{{31.5, 2.25}, {28, 4}, New(), {22.75, 7.5}}
	for b.Loop() {
		Rate(before, []int{2, 1, 2, 4})
	}
}
