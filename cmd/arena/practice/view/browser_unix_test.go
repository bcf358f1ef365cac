//go:build unix

package view

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ctrl-C in a terminal reaches the whole group of this program, but not the browser.
func TestBrowserHasItsOwnGroup(t *testing.T) {
	cmd := browser([]string{"cat"})
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	group, err := syscall.Getpgid(cmd.Process.Pid)
	require.NoError(t, err)
	require.Equal(t, cmd.Process.Pid, group)
	require.NoError(t, input.Close()) // ends the program
	require.NoError(t, cmd.Wait())
}
