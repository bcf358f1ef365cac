//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package botwire

import "time"

// The constant settle is a waiting time. If a connection's reader stays idle for this
// long, drained() assumes that nothing is left to read. These platforms have no
// portable way to ask the kernel.
const settle = 20 * time.Millisecond

// The method drained() reports whether the reader is idle and stays idle for the
// duration settle. If not, call the method again once the channel next is closed.
func (c *conn) drained() (ok bool, next <-chan struct{}) {
	idle := func() bool { return true }
	ok, next = c.idle.drained(idle)
	if !ok {
		return false, next
	}
	select {
	case <-next: // the reader has read something in the meantime
		return false, next
	case <-time.After(settle):
		ok, again := c.idle.drained(idle)
		return ok && again == next, again
	}
}
