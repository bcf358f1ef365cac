//go:build unix

package outage

import (
	"errors"
	"net"
	"syscall"
)

// setBacklog sets how many connections may wait to be accepted; beyond it the
// kernel does not answer.
func setBacklog(l *net.TCPListener, n int) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), n) })
	return errors.Join(err, failed)
}
