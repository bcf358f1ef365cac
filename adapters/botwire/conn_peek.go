//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package botwire

import "syscall"

// Read waits until there is something to read, and only then reads: between
// the two, the connection's bytes are in the kernel and its reader is idle.
func (c *conn) Read(p []byte) (int, error) {
	c.idle.enter()
	// An error here (closed, past a deadline) is one of Read's too.
	_ = c.raw.Read(func(fd uintptr) bool { return !nothingToRead(fd) })
	c.idle.leave()
	return c.Conn.Read(p)
}

// drained says whether all that the socket has received was handed on; if not,
// next is closed when it is worth asking again.
func (c *conn) drained() (ok bool, next <-chan struct{}) {
	return c.idle.drained(func() bool {
		empty := true
		err := c.raw.Control(func(fd uintptr) { empty = nothingToRead(fd) })
		return err != nil || empty
	})
}

// nothingToRead peeks: an end or an error of the stream is something to read.
func nothingToRead(fd uintptr) bool {
	var b [1]byte
	for {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if err != syscall.EINTR {
			return err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		}
	}
}
