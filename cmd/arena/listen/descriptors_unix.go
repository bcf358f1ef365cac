//go:build unix

package listen

import (
	"math"
	"syscall"
)

// descriptors returns the number of files and sockets that the process may have
// open. When a Go program starts, it raises this number to the hard limit.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 2 * maxConnections
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // the type differs between systems
}
