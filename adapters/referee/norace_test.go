//go:build !race

package referee

const raceDetector = false
