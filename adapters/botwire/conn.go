package botwire

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// conn is the TCP connection of a line. It can report whether the goroutine that reads
// from it is waiting and has nothing left to read. It can be cut while other calls are
// blocked on it.
type conn struct {
	*rawConn
	idle idle

	reset atomic.Bool // true after the kernel has reported a reset, which it reports only once
}

func newConn(tcp *net.TCPConn) (*conn, error) {
	raw, err := newRawConn(tcp)
	return &conn{rawConn: raw}, err
}

// Read waits until there is something to read, and then reads. The reader is idle while
// it waits.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.readWaiting(p, c.idle.set)
	if err != nil && c.reset.Load() {
		err = syscall.ECONNRESET
	}
	return n, err
}

// cut closes the connection immediately. It discards unsent bytes, including
// those in the kernel, and blocked calls return.
func (c *conn) cut() {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// The type idle records whether a connection's reader (the goroutine that reads from
// it) is waiting. The reader stops waiting before it reads a byte from the kernel. So
// if the reader is waiting and the kernel's buffer is empty, the reader has passed on
// every earlier byte.
type idle struct {
	mu      sync.Mutex
	waiting bool
	next    chan struct{} // closed when the reader waits again; nil if no caller has asked for it
}

func (i *idle) set(waiting bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting = waiting
	if waiting && i.next != nil {
		close(i.next)
		i.next = nil
	}
}

// The method drained() reports whether the reader is waiting and the function empty
// returns true. If not, the channel next is closed as soon as the reader waits again.
func (i *idle) drained(empty func() bool) (ok bool, next <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.next == nil {
		i.next = make(chan struct{})
	}
	return i.waiting && empty(), i.next
}
