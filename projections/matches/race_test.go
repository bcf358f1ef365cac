//go:build race

package matches_test

// raced says that the race detector is on, under which SQLite is slow.
const raced = true
