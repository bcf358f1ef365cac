package botwire

import (
	"net"
	"sync"
	"syscall"
)

// conn is the TCP connection below a line. It knows whether its reader waits
// with nothing left to read, and can be cut without regard to anyone.
type conn struct {
	net.Conn
	tcp  *net.TCPConn
	raw  syscall.RawConn
	idle idle
}

func newConn(tcp *net.TCPConn) (*conn, error) {
	raw, err := tcp.SyscallConn()
	return &conn{Conn: tcp, tcp: tcp, raw: raw}, err
}

// cut ends the connection at once: nothing that is unsent is sent, in the
// kernel either, and every call that is blocked on it returns.
func (c *conn) cut() {
	_ = c.tcp.SetLinger(0)
	_ = c.tcp.Close()
}

// idle is whether a reader is waiting for its connection. The reader leaves it
// before it takes a byte from the kernel; so a reader seen waiting, together
// with an empty kernel buffer, has handed on all that came before.
type idle struct {
	mu      sync.Mutex
	waiting bool
	next    chan struct{} // if anyone asked: closed when the reader comes to wait
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

// drained says whether the reader waits while empty holds; if not, next is
// closed when it comes to wait again.
func (i *idle) drained(empty func() bool) (ok bool, next <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.next == nil {
		i.next = make(chan struct{})
	}
	return i.waiting && empty(), i.next
}
