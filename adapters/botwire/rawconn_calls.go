//go:build unix && (!linux || race)

package botwire

import "syscall"

// The calls of package syscall also tell the race detector that a program's writes to a
// socket happen before its reads from the other end.

func read(fd uintptr, p []byte) (int, error) { return retry(syscall.Read, fd, p) }

func write(fd uintptr, p []byte) (int, error) { return retry(syscall.Write, fd, p) }

func retry(call func(int, []byte) (int, error), fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = call(int(fd), p); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
