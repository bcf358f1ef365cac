//go:build race

package referee

// raceDetector reports whether the race detector is on. The race detector makes work
// that is quadratic in the length of a match ten times as slow.
const raceDetector = true
