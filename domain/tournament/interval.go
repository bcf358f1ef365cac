package tournament

import "math"

// z95 is the 97.5 % quantile of the standard normal distribution. A normal variable
// lies within z95 standard deviations of its mean in 95 % of the cases.
const z95 = 1.959963984540054

// Wilson returns the 95 % score interval of Wilson for a probability, after wins of n
// trials had the outcome. Both bounds lie between 0 and 1. Without trials, the interval
// is 0 to 1. Unlike the usual interval, mean ± 1.96 standard errors, it also holds for
// few trials and for probabilities near 0 and 1.
func Wilson(wins, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	trials := float64(n)
	share := float64(wins) / trials
	scale := 1 + z95*z95/trials
	center := (share + z95*z95/(2*trials)) / scale
	half := z95 * math.Sqrt(share*(1-share)/trials+z95*z95/(4*trials*trials)) / scale
	low, high = max(0, center-half), min(1, center+half)
	// With no wins, or only wins, one bound is exact. Rounding must not move it.
	if wins == 0 {
		low = 0
	}
	if wins == n {
		high = 1
	}
	return low, high
}
