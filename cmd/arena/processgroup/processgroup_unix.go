//go:build unix

package processgroup

import (
	"os/exec"
	"syscall"
)

// Own makes a program the leader of a process group. So Ctrl-C reaches only this
// process, and End also reaches the program's children.
func Own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// End ends a program and its children. If now is false, they may finish first.
func End(cmd *exec.Cmd, now bool) {
	signal := syscall.SIGTERM
	if now {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-cmd.Process.Pid, signal) // the group may have ended
}
