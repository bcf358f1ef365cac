//go:build race

package matches_test

// The constant raced says whether the race detector is on. The race detector makes
// SQLite slow.
const raced = true
