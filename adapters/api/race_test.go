//go:build race

package api

// RaceEnabled reports whether the race detector is on, which slows everything
// down.
const RaceEnabled = true
