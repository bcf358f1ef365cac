//go:build race

package referee

// raceDetector reports that the race detector is on. Work that is quadratic in the
// length of a match is then ten times as slow.
const raceDetector = true
