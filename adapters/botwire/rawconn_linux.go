//go:build !race

package botwire

import (
	"syscall"
	"unsafe"
)

// read reads the bytes that a socket has received. If there are none, the error is
// EAGAIN. p must not be empty.
func read(fd uintptr, p []byte) (int, error) { return call(syscall.SYS_READ, fd, p) }

// write writes as many bytes as fit into a socket's buffer. If none fit, the error is
// EAGAIN. p must not be empty.
func write(fd uintptr, p []byte) (int, error) { return call(syscall.SYS_WRITE, fd, p) }

func call(trap, fd uintptr, p []byte) (int, error) {
	for {
		n, _, err := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch err {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, err
		}
	}
}
