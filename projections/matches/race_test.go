//go:build race

package matches_test

// raced reports whether the race detector is on, under which SQLite is slow.
const raced = true
