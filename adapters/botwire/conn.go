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
	net.Conn
	tcp  *net.TCPConn
	raw  syscall.RawConn
	idle idle

	reset atomic.Bool // true after the kernel has reported a reset, which it reports only once
}

func newConn(tcp *net.TCPConn) (*conn, error) {
	raw, err := tcp.SyscallConn()
	return &conn{Conn: tcp, tcp: tcp, raw: raw}, err
}

// cut closes the connection immediately. It discards unsent bytes, including
// those in the kernel, and blocked calls return.
func (c *conn) cut() {
	_ = c.tcp.SetLinger(0)
	_ = c.tcp.Close()
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

func (i *idle) enter() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting = true
	if i.next != nil {
		close(i.next)
		i.next = nil
	}
}

func (i *idle) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting = false
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
