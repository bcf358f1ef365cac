//go:build race

package tournament_test

// raceEnabled reports whether the race detector is on.
const raceEnabled = true
