package rating

import "math"

// Delta returns the change of the displayed rating from before to after, to one
// decimal.
func Delta(before, after Rating) float64 {
	return math.Round(float64((after.Displayed()-before.Displayed())*10))/10 + 0
}
