package bench

import (
	"io"

	"github.com/alecthomas/kong"
)

// printingTo is a command line whose figures go to out.
func printingTo(out io.Writer) *kong.Kong { return &kong.Kong{Stdout: out, Stderr: io.Discard} }
