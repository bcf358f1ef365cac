//go:build race

package node

// raceShare limits tests with very many inputs: under the race detector, they try only
// one in raceShare of them. The inputs differ in data, not in the order in which
// goroutines run, and the race detector makes each of them ten times as slow.
const raceShare = 8
