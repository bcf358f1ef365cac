//go:build race

package referee

// raceDetector reports whether the race detector is on. With the race detector, work
// that is quadratic in the length of a match takes ten times as long.
const raceDetector = true
