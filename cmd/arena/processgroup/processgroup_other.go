//go:build !unix

package processgroup

import "os/exec"

// Own does nothing on systems without process groups.
func Own(*exec.Cmd) {}

// End ends a program. Without process groups, its children may continue.
func End(cmd *exec.Cmd, _ bool) { _ = cmd.Process.Kill() }
