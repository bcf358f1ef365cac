package main

import "syscall"

// shortQueue limits a listener's queue to one connection. It reports whether that
// worked.
func shortQueue(c syscall.RawConn) bool {
	var failed error
	err := c.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), 0) })
	return err == nil && failed == nil
}
