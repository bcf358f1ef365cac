package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/muesli/roff"
)

// toolCmds are commands about the program itself.
type toolCmds struct {
	Completion kongcompletion.Completion `cmd:"" help:"Print how to set up shell completion."`
	Man        manCmd                    `cmd:"" help:"Print the manual page for man."`
	Version    kong.VersionFlag          `env:"-" help:"Print the version."`
}

type manCmd struct{}

// Run prints the manual page.
func (manCmd) Run(call *kong.Context) error {
	_, err := io.WriteString(call.Stdout, mangokong.NewManPage(1, call.Model).Build(roff.NewDocument()))
	return err
}

// version returns the program's version and the Go version that built it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "arena (unknown)"
	}
	built := info.Main.Version
	if built == "" {
		built = "(devel)"
	}
	return fmt.Sprintf("arena %s (%s)", built, info.GoVersion)
}
