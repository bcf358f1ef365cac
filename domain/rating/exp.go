package rating

import "math"

// The natural logarithm of 2, split into two parts. ln2High has so few bits that its
// product with a small integer is exact.
const (
	ln2High = 0x1.62e42feep-1
	ln2Low  = 0x1.a39ef35793c76p-33
)

// expTerms is the degree of the last term in the series for exp. For an argument
// within ±ln2/2, the remainder is below half a unit in the last place.
const expTerms = 13

// exp returns e to the power of x, within two units in the last place. math.Exp has
// an assembly version that fuses operations on some processors, so its last bits
// differ between machines. This function returns the same bits on all machines.
func exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 709.8:
		return math.Inf(1)
	case x < -745.2:
		return 0
	}
	k := math.Round(float64(x * math.Log2E))
	r := (x - float64(k*ln2High)) - float64(k*ln2Low)
	sum := 1.0
	for n := float64(expTerms); n >= 1; n-- {
		sum = 1 + float64(sum*r)/n
	}
	return math.Ldexp(sum, int(k))
}
