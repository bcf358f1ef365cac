//go:build !race

package api

// RaceEnabled reports whether the race detector is on. If it is, tests do not validate
// long responses.
const RaceEnabled = false
