//go:build !race

package signedlog_test

const raceEnabled = false
