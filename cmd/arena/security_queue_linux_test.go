package main

import "syscall"

// shortQueue makes a listener queue only one connection.
func shortQueue(c syscall.RawConn) bool {
	var failed error
	err := c.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), 0) })
	return err == nil && failed == nil
}
