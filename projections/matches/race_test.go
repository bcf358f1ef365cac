//go:build race

package matches_test

// raced reports whether the race detector is on, which makes SQLite slow.
const raced = true
