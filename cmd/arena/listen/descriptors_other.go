//go:build !unix

package listen

// descriptors returns the number of files and sockets that the process may have
// open. Systems other than Unix have no such limit.
func descriptors() int { return 2 * maxConnections }
