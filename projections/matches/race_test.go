//go:build race

package matches_test

// raced reports whether the race detector is on. SQLite is slow under it.
const raced = true
