package rating

import "math"

// Delta returns the displayed rating after minus the displayed rating before, to
// one decimal.
func Delta(before, after Rating) float64 {
	return math.Round(float64((after.Displayed()-before.Displayed())*10))/10 + 0
}
