package rating

import "math"

// Delta returns the change in the displayed rating from before to after, rounded
// to one decimal.
func Delta(before, after Rating) float64 {
	return math.Round(float64((after.Displayed()-before.Displayed())*10))/10 + 0
}
