//go:build !race

package node

const raceShare = 1
