//go:build unix

package outage

import (
	"errors"
	"net"
	"syscall"
)

// setBacklog sets how many connections may wait to be accepted. The kernel ignores
// connections beyond that number.
func setBacklog(l *net.TCPListener, n int) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), n) })
	return errors.Join(err, failed)
}

// The function hold() binds an address but does not listen. The kernel then refuses
// connections to the address, and never assigns its port to another listener.
func hold(address *net.TCPAddr) (release func(), err error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	release = func() { _ = syscall.Close(fd) }
	to := &syscall.SockaddrInet4{Port: address.Port, Addr: [4]byte(address.IP.To4())}
	err = errors.Join(syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1), syscall.Bind(fd, to))
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}
