//go:build unix

package practice

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a program the leader of a process group. So Ctrl-C reaches only this
// process, and endGroup also reaches the program's children.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup ends a program and its children. If now is false, they may finish first.
func endGroup(cmd *exec.Cmd, now bool) {
	signal := syscall.SIGTERM
	if now {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-cmd.Process.Pid, signal) // the group may have ended
}
