package view

import (
	"os"
	"os/exec"
	"runtime"

	"hexarena/cmd/arena/processgroup"
)

// browserCommand returns the command that opens a page in the browser of an operating
// system, or nil if there is no screen. The function getenv is os.Getenv.
func browserCommand(goos, url string, getenv func(string) string) []string {
	switch goos {
	case "darwin":
		return []string{"open", url}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	if getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" {
		return nil // xdg-open would start a browser in this terminal
	}
	return []string{"xdg-open", url}
}

// openBrowser opens a page, if there is a browser. The address is printed in any case, so
// errors do not matter.
func openBrowser(url string) {
	command := browserCommand(runtime.GOOS, url, os.Getenv)
	if command == nil {
		return
	}
	if cmd := browser(command); cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}

// browser returns the process of a browser. It has a group of its own, because otherwise
// Ctrl-C would end the browser together with this program.
func browser(command []string) *exec.Cmd {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // the browser outlives this program
	processgroup.Own(cmd)
	return cmd
}
