//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package botwire

import "time"

// settle is the time after which a waiting reader counts as having nothing to
// read. This platform offers no portable way to ask the kernel.
const settle = 20 * time.Millisecond

// Read reads. The reader counts as idle while it is blocked.
func (c *conn) Read(p []byte) (int, error) {
	c.idle.enter()
	defer c.idle.leave()
	return c.Conn.Read(p)
}

// drained reports whether the reader is idle and stays idle for settle.
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

// drainedNow reports whether the reader has been waiting since before was made.
func (c *conn) drainedNow(before <-chan struct{}) (ok bool, next <-chan struct{}) {
	ok, next = c.idle.drained(func() bool { return true })
	return ok && next == before, next
}

// nextIdle returns a channel that is closed when the reader waits again.
func (c *conn) nextIdle() <-chan struct{} {
	_, next := c.idle.drained(func() bool { return true })
	return next
}
