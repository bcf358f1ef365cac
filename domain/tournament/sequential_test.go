package tournament_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hexarena/domain/tournament"
	"hexarena/eventstore/logtest"
)

// A distribution draws differences of blocks with mean 0 and standard deviation 1.
type distribution struct {
	name string
	draw func(*rand.Rand) float64
}

var distributions = []distribution{
	{"normal", (*rand.Rand).NormFloat64},
	{"skewed", func(r *rand.Rand) float64 { // skewness 1
		return (r.ExpFloat64() + r.ExpFloat64() + r.ExpFloat64() + r.ExpFloat64() - 4) / 2
	}},
	{"discrete", discrete},
	{"heavy tails", func(r *rand.Rand) float64 { // kurtosis 14
		x := r.NormFloat64() / math.Sqrt(2.2)
		if r.IntN(20) == 0 {
			x *= 5
		}
		return x
	}},
}

// discrete draws the mean over four tables. At 60 % of the tables, both bots finish in the
// same place.
func discrete(r *rand.Rand) float64 {
	bits, sum := r.Uint64(), 0
	for range 4 {
		sum += atOneTable[bits%100]
		bits >>= 16
	}
	return float64(sum) / math.Sqrt(4*0.86)
}

var atOneTable = slices.Concat(slices.Repeat([]int{0}, 60), slices.Repeat([]int{1, -1}, 14),
	slices.Repeat([]int{2, -2}, 5), []int{3, -3})

// tally counts how simulated comparisons ended.
type tally struct {
	verdicts [5]int
	blocks   int // in all comparisons together
	outside  int // comparisons in which the interval excluded the true mean at any moment
}

// repeatComparison simulates comparisons of two bots with a known mean difference. The
// standard deviation is that of blocks of 3 or 4 matches between similar bots.
func repeatComparison(r *rand.Rand, n int, test tournament.Test, d distribution, mean float64) tally {
	const deviation = 0.75
	var t tally
	for range n {
		c := tournament.NewComparison(test)
		outside := false
		for c.Verdict() == tournament.Open {
			c.Add(mean + deviation*d.draw(r))
			e := c.Estimate()
			outside = outside || e.Low > mean || e.High < mean
		}
		t.verdicts[c.Verdict()]++
		t.blocks += c.Blocks()
		if outside {
			t.outside++
		}
	}
	return t
}

func TestErrorRatesOfComparisons(t *testing.T) {
	random := logtest.Random(t)
	n := 10_000
	if testing.Short() || raceEnabled {
		n = 300
	}
	for _, beta := range []float64{0.05, 0.1} {
		test := tournament.Test{Effect: 0.1, Alpha: 0.05, Beta: beta, MaxBlocks: 5000}
		quantiles := map[float64]float64{0.05: 1.6448536, 0.1: 1.2815516}
		fixed := math.Pow((1.9599640+quantiles[beta])*0.75/0.1, 2)
		for _, d := range distributions {
			null := repeatComparison(random, n, test, d, 0)
			up := repeatComparison(random, n/2, test, d, 0.1)
			down := repeatComparison(random, n/2, test, d, -0.1)
			wrong := null.verdicts[tournament.Better] + null.verdicts[tournament.Worse]
			missed := n/2*2 - up.verdicts[tournament.Better] - down.verdicts[tournament.Worse]
			p := func(x int) float64 { return 100 * float64(x) / float64(n) }
			t.Logf("%v %s: wrong %.2f missed %.2f (%.2f %.2f) blocks %.1f %.1f avg %.1f outside %.2f %.2f", beta, d.name, p(wrong), p(missed),
				100-2*p(up.verdicts[tournament.Better]), 100-2*p(down.verdicts[tournament.Worse]),
				p(null.blocks)/fixed, p(up.blocks+down.blocks)/fixed, p(null.blocks+up.blocks+down.blocks)/fixed/2, p(null.outside), p(up.outside+down.outside))
		}
	}
}
