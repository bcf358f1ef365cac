//go:build race

package practice

// raceEnabled reports whether the race detector is on.
const raceEnabled = true
