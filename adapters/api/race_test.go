//go:build race

package api

// RaceEnabled says whether the race detector slows everything down.
const RaceEnabled = true
