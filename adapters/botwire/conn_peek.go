//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package botwire

import (
	"io"
	"os"
	"syscall"
)

// Read waits until there is something to read, and then reads. While Read waits,
// new bytes stay in the kernel and the reader is idle.
func (c *conn) Read(p []byte) (n int, err error) {
	closed := c.raw.Read(func(fd uintptr) bool {
		c.idle.leave()
		if n, err = readNow(fd, p); !isEmpty(err) {
			return true
		}
		c.idle.enter()
		return false
	})
	switch {
	case closed != nil: // or a deadline has passed
		c.idle.leave()
		return 0, closed
	case n > 0 || len(p) == 0:
		return n, nil
	case c.reset.Load():
		return 0, syscall.ECONNRESET
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	}
	return 0, io.EOF
}

// readNow reads the bytes that the socket has received. It does not wait.
func readNow(fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = syscall.Read(int(fd), p); err != syscall.EINTR {
			return n, err
		}
	}
}

// isEmpty reports whether err means that the socket has nothing to read.
func isEmpty(err error) bool { return err == syscall.EAGAIN || err == syscall.EWOULDBLOCK }

// The method drained() reports whether the reader has passed on every byte that the
// socket has received. If not, call the method again once the channel next is closed.
func (c *conn) drained() (ok bool, next <-chan struct{}) {
	return c.idle.drained(func() bool {
		empty := true
		err := c.raw.Control(func(fd uintptr) { empty = c.nothingToRead(fd) })
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
			return isEmpty(err)
		}
	}
}
