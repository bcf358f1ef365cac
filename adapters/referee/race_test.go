//go:build race

package referee

// raceDetector slows what is quadratic in a match's length tenfold.
const raceDetector = true
