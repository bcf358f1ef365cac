//go:build !race

package matches_test

const raced = false
