package tournament

import "math"

// Verdict is the result of a comparison.
type Verdict int

// The verdicts. "How compare decides" in docs/practice.md explains them.
const (
	// Open means that the comparison needs more blocks.
	Open Verdict = iota
	Better
	Worse
	// NoDifference means that the difference is smaller than the effect.
	NoDifference
	// Undecided means that the comparison reached its limit of blocks.
	Undecided
)

// MinBlocks is the number of blocks before the first possible verdict. With fewer blocks,
// the estimate of the variance is too uncertain.
const MinBlocks = 30

// largestDifference is the largest difference between two placements, in places.
const largestDifference = 3

// Test contains the parameters of a comparison.
type Test struct {
	Effect    float64 // the smallest difference that matters, in places, more than 0
	Alpha     float64 // the accepted probability of Better or Worse if there is no difference
	Beta      float64 // the accepted probability of missing a difference as large as Effect
	MaxBlocks int     // the comparison ends after so many blocks, at least MinBlocks
}

// Comparison is a sequential test of the mean difference between two bots. It looks at
// the result after every block and ends as soon as the blocks suffice for a verdict.
//
// The test is a sequential probability ratio test with an estimated variance. It tests
// the difference 0 against +Effect, and against −Effect. docs/practice.md explains it, and
// the simulations in this package's tests show its error rates.
type Comparison struct {
	test                Test
	blocks              int
	sum, squares, cubes float64 // of the differences and of their powers
	verdict             Verdict
	estimate            Estimate

	// rejectAt and acceptAt are logarithms of likelihood ratios. The comparison rejects a
	// mean if another mean, one effect away, is e^rejectAt times as likely. It uses
	// acceptAt for the means −Effect and +Effect.
	rejectAt, acceptAt float64
}

// Estimate is the mean difference and its confidence interval, in places. The interval
// has the level 1 − Alpha at every moment, however the reader chooses the moment. It is
// −3 to 3 until there are MinBlocks blocks.
type Estimate struct {
	Mean, Low, High float64
}

// sharedMisses reduces acceptAt. With Wald's bound, a test would miss less often than Beta
// allows: the means −Effect and +Effect must both be rejected, and the later of the two
// rejections is at its limit, but the earlier one is far beyond. The value is from
// numerical integration of the test with a known variance. It fits Alpha and Beta from
// 0.01 to 0.2: the rate of misses is 0.9 to 1.1 times Beta.
const sharedMisses = 0.35

// NewComparison starts a comparison.
func NewComparison(t Test) *Comparison {
	return &Comparison{
		test:     t,
		estimate: Estimate{Low: -largestDifference, High: largestDifference},
		rejectAt: math.Log(2 / t.Alpha),
		acceptAt: math.Log((1-t.Alpha)/t.Beta) - sharedMisses,
	}
}

// Add adds the next block. The difference is the mean placement of OLD minus that of NEW
// over the matches of the block, in places, so it is positive if NEW did better. The order
// of the blocks must not depend on their results: add them by their number, not as they
// finish. After a verdict, Add does nothing.
func (c *Comparison) Add(difference float64) {
	if c.verdict != Open {
		return
	}
	c.blocks++
	c.sum += difference
	c.squares += difference * difference
	c.cubes += difference * difference * difference
	c.decide()
}

// Blocks returns the number of blocks up to the verdict, or up to now.
func (c *Comparison) Blocks() int { return c.blocks }

// Verdict returns the verdict. It never changes once it is not Open. It agrees with the
// estimate: it is Better or Worse if the interval excludes 0, and only then.
func (c *Comparison) Verdict() Verdict { return c.verdict }

// Estimate returns the estimate at the verdict, or up to now.
func (c *Comparison) Estimate() Estimate { return c.estimate }

func (c *Comparison) decide() {
	c.estimate.Mean = c.sum / float64(c.blocks)
	if c.blocks >= MinBlocks {
		s := c.spread()
		c.estimate.Low, c.estimate.High = c.interval(s, c.rejectAt)
		low, high := c.interval(s, c.acceptAt)
		switch {
		case c.estimate.Low > 0:
			c.verdict = Better
		case c.estimate.High < 0:
			c.verdict = Worse
		case -c.test.Effect < low && high < c.test.Effect:
			c.verdict = NoDifference
		}
	}
	if c.verdict == Open && c.blocks >= c.test.MaxBlocks {
		c.verdict = Undecided
	}
}

// spread describes the distribution of the differences.
type spread struct {
	variance float64
	// lean tells how the variance depends on the mean: samples whose mean is too high by d
	// have a variance that is too high by d·lean. It is 0 if the distribution is symmetric.
	lean float64
}

func (c *Comparison) spread() spread {
	n, mean := float64(c.blocks), c.estimate.Mean
	// One imaginary block, 1 place from the mean, keeps the variance above 0. Without it,
	// two bots that differ only rarely would look the same after 30 equal blocks.
	around := c.squares - c.sum*mean + 1
	// An estimated variance makes extreme ratios likelier, as in Student's distribution.
	// The imaginary block and this factor make up for it.
	variance := around / (n - 1) * (1 + 3/n)
	third := c.cubes/n - 3*mean*c.squares/n + 2*mean*mean*mean
	// Ignore a skewness below 2 standard errors. The standard error is that of a normal
	// distribution.
	noise := 2 * math.Sqrt(6/n*variance) * variance
	lean := max(0, math.Abs(third)-noise) / variance
	return spread{variance: variance, lean: math.Copysign(lean, third)}
}

// interval returns the means that are not rejected. It rejects a mean m below the observed
// mean if the mean m + Effect is at least e^logRatio times as likely as m, for normal
// differences with this variance. Means above the observed mean are treated the same way.
func (c *Comparison) interval(s spread, logRatio float64) (low, high float64) {
	n, effect := float64(c.blocks), c.test.Effect
	// At the moment of a rejection, the sum has passed its limit by 0.583 standard
	// deviations on average, if these are large compared with the effect (Siegmund,
	// "Sequential Analysis", 1985). A limit that is lower by this amount is exact.
	logRatio -= 0.583 * min(effect/math.Sqrt(s.variance), 0.5)
	perUnit := logRatio / (n * effect)
	half := effect/2 + s.variance*perUnit
	// If the true mean is lower than the observed one and the distribution leans to the
	// left, then the observed variance is too low. It is corrected only upward.
	return max(c.estimate.Mean-half/lever(-s.lean*perUnit), -largestDifference),
		min(c.estimate.Mean+half/lever(s.lean*perUnit), largestDifference)
}

// lever solves half = base + half·share, with half = base / lever(share).
func lever(share float64) float64 {
	const smallest = 0.01 // an interval that is 100 times as long excludes nothing
	return max(1-max(share, 0), smallest)
}
