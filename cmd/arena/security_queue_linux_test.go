package main

import "syscall"

// shortQueue has a listener queue no connections beyond the first.
func shortQueue(c syscall.RawConn) bool {
	var failed error
	err := c.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), 0) })
	return err == nil && failed == nil
}
