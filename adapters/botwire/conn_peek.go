//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package botwire

import "syscall"

// The method drained() reports whether the reader has passed on every byte that the
// socket has received. If not, call the method again once the channel next is closed.
func (c *conn) drained() (ok bool, next <-chan struct{}) {
	return c.idle.drained(func() bool {
		empty := true
		err := c.control(func(fd uintptr) { empty = c.nothingToRead(fd) })
		return err != nil || empty
	})
}

// nothingToRead reports whether the socket has nothing to read. It only peeks, so the
// bytes stay in the socket. At the end of the stream and after an error, it returns
// false.
func (c *conn) nothingToRead(fd uintptr) bool {
	var b [1]byte
	for {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if err == syscall.ECONNRESET {
			c.reset.Store(true)
		}
		if err != syscall.EINTR {
			return err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		}
	}
}
