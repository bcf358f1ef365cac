package tournament

import "math"

// Percentile returns the smallest value that is at least as large as p percent of the
// values (the nearest rank). p is between 0 and 100, and the values are in ascending
// order. Without values, it returns 0. A percentile is always one of the values.
func Percentile(sorted []int64, p float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	// p·n/100 can exceed a whole number by a rounding error, as in 99.9 % of 1000.
	const rounding = 1e-9
	rank := int(math.Ceil(p*float64(len(sorted))/100 - rounding))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
