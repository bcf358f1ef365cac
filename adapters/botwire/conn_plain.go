//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package botwire

import "time"

// settle is how long a reader must have waited to be taken for one that has
// nothing to read, where the kernel cannot be asked.
const settle = 20 * time.Millisecond

// Read reads; the connection's reader is idle while it is blocked.
func (c *conn) Read(p []byte) (int, error) {
	c.idle.enter()
	defer c.idle.leave()
	return c.Conn.Read(p)
}

// drained says whether the reader is idle and stays so for a moment.
func (c *conn) drained() (ok bool, next <-chan struct{}) {
	ok, next = c.idle.drained(func() bool { return true })
	if !ok {
		return false, next
	}
	select {
	case <-next:
		return false, c.nextIdle()
	case <-time.After(settle):
		return c.drainedNow(next)
	}
}

// drainedNow says whether the reader has been waiting since before was made.
func (c *conn) drainedNow(before <-chan struct{}) (ok bool, next <-chan struct{}) {
	ok, next = c.idle.drained(func() bool { return true })
	return ok && next == before, next
}

func (c *conn) nextIdle() <-chan struct{} {
	_, next := c.idle.drained(func() bool { return true })
	return next
}
