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

// MeanInterval returns the mean of values, and the bounds of its 95 % interval (Student's
// t). The values must be independent. ok is false if there are fewer than two values:
// they have a mean but no interval.
func MeanInterval(values []float64) (mean, low, high float64, ok bool) {
	n := float64(len(values))
	if n == 0 {
		return 0, 0, 0, false
	}
	for _, v := range values {
		mean += v / n
	}
	if n < 2 {
		return mean, mean, mean, false
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	half := student(len(values)-1) * math.Sqrt(squares/(n-1)/n)
	return mean, mean - half, mean + half, true
}

// studentTable holds the 97.5 % quantiles of Student's t with 1 to 4 degrees of freedom.
var studentTable = [...]float64{12.706205, 4.302653, 3.182446, 2.776445}

// student returns the 97.5 % quantile of Student's t. From 5 degrees of freedom on, the
// expansion of Cornish and Fisher is less than 0.2 % off.
func student(freedom int) float64 {
	if freedom <= len(studentTable) {
		return studentTable[freedom-1]
	}
	n, z := float64(freedom), z95
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*n) + (5*z5+16*z3+3*z)/(96*n*n) + (3*z7+19*z5+17*z3-15*z)/(384*n*n*n)
}
