//go:build race

package referee

// raceDetector reports whether the race detector is on. Under the race
// detector, work that is quadratic in the length of a match is ten times as
// slow.
const raceDetector = true
